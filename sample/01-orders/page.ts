/** The one page of the shop. Inline, so that it is found wherever the compiled sample runs; needs nothing from outside. */
export const PAGE = /* html */ `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Orders</title>
<link rel="icon" href="data:,">
<style>
  :root { color-scheme: light dark; --line: light-dark(#e3e3e8, #34343c); --soft: light-dark(#6b6b76, #9a9aa6); }
  body { max-width: 54rem; margin: 2.5rem auto; padding: 0 1.25rem; font: 15px/1.5 system-ui, sans-serif; }
  header { display: flex; flex-wrap: wrap; gap: .6rem; align-items: center; margin-bottom: 1.25rem; }
  h1 { font-size: 1.5rem; margin: 0 auto 0 0; }
  h2 { font-size: .8rem; font-weight: 600; margin: 2.25rem 0 .25rem; color: var(--soft); }
  table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
  th, td { padding: 0 1.25rem 0 0; height: 2.4rem; text-align: left; border-bottom: 1px solid var(--line); }
  th { height: 2rem; font-size: .8rem; font-weight: 600; color: var(--soft); }
  .number { text-align: right; white-space: nowrap; }
  th:last-child, td:last-child { text-align: right; padding-right: 0; }
  .orders td { height: 3.1rem; }
  .orders :is(th, td):nth-child(5) { width: 17rem; }
  .stats { table-layout: fixed; }
  code { font: .9em ui-monospace, monospace; }
  button { font: inherit; padding: .3rem .8rem; border: 1px solid var(--line); border-radius: .4rem; background: transparent; color: inherit; cursor: pointer; }
  button:hover { border-color: currentColor; }
  button.main { background: #2457d6; border-color: #2457d6; color: #fff; }
  .state { display: inline-block; width: 4.5rem; padding: .1rem 0; border-radius: 1rem; font-size: .85rem; text-align: center; color: #fff; }
  .open { background: #2457d6; } .paying { background: #a35c00; } .paid { background: #1c7a3d; } .expired { background: #71717c; }
  .note, #message { color: var(--soft); }
  #message { min-height: 1.5rem; margin: 0 0 .5rem; }
  #message.bad { color: light-dark(#b3261e, #ff8a80); }
  @media (max-width: 46rem) {
    th, td { padding-right: .5rem; }
    .stats { table-layout: auto; }
    .stats th { height: auto; white-space: normal; vertical-align: bottom; }
    .orders thead { display: none; }
    .orders tr { display: grid; grid-template-columns: 1fr auto 5rem; gap: .3rem .75rem; align-items: center; padding: .75rem 0; border-bottom: 1px solid var(--line); }
    .orders td { height: auto; padding: 0; border: 0; }
    .orders td:nth-child(2) { order: 1; grid-column: 1 / 3; }
    .orders td:nth-child(4) { justify-self: end; }
    .orders td:nth-child(5) { order: 2; grid-column: 1 / 4; width: auto; }
    .orders td:nth-child(6) { order: 1; }
  }
</style>
<header>
  <h1>Orders</h1>
  <button class="main" id="create">New order</button>
  <button id="create-never" title="Its total ends in 13 cents: the gateway never confirms such a payment">New order, payment never confirmed</button>
</header>
<p id="message" role="status"></p>
<table class="orders">
  <thead><tr><th>Order<th>Items<th class="number">Total<th>State<th><th></thead>
  <tbody id="orders"></tbody>
</table>
<h2>Delay queue</h2>
<table class="stats">
  <thead><tr><th>Topic<th class="number">Pending<th class="number">Due<th class="number">In flight<th class="number">Dead letters</thead>
  <tbody id="stats"></tbody>
</table>
<script>
  const GOODS = [['tea', 450], ['bread', 320], ['honey', 875], ['oranges', 395], ['cheese', 1240]];
  const byId = (id) => document.getElementById(id);
  const clock = (at) => new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false });

  /** Text only, so that nothing a customer typed becomes markup. */
  function cell(content, className) {
    const td = document.createElement('td');
    td.append(content);
    if (className) td.className = className;
    return td;
  }
  function element(name, text, className) {
    const made = document.createElement(name);
    made.textContent = text;
    if (className) made.className = className;
    return made;
  }
  function row(...cells) {
    const tr = document.createElement('tr');
    tr.append(...cells);
    return tr;
  }

  function noteOf(order) {
    const wait = (at) => Math.max(0, Math.ceil((at - Date.now()) / 1000)) + ' s';
    if (order.state === 'open') {
      const past = order.reminded ? 'reminded, ' : order.payment ? 'payment given up, ' : '';
      return past + 'expires at ' + clock(order.expiresAt) + ', in ' + wait(order.expiresAt);
    }
    if (order.state === 'paying') {
      const { checks = 0, nextCheckAt } = order.payment || {};
      return 'checks made: ' + checks + (nextCheckAt ? ', next in ' + wait(nextCheckAt) : '');
    }
    if (order.state === 'paid') return 'confirmed at check ' + order.payment.checks;
    return 'not paid in time';
  }

  const rows = new Map();
  /** Made anew only when the state changes: a button that is redrawn under the finger loses its click and its focus. */
  function rowOf(order) {
    let known = rows.get(order.id);
    if (!known || known.state !== order.state) {
      known = { state: order.state, row: newRow(order) };
      rows.set(order.id, known);
    }
    known.row.querySelector('.note').textContent = noteOf(order);
    return known.row;
  }

  function newRow(order) {
    const items = order.items.map((item) => item.quantity + ' ' + item.name).join(', ');
    const pay = element('button', 'Pay');
    pay.onclick = () => act('/orders/' + order.id + '/pay', undefined);
    return row(
      cell(element('code', order.id)),
      cell(items),
      cell('€' + (order.totalCents / 100).toFixed(2), 'number'),
      cell(element('span', order.state, 'state ' + order.state)),
      cell('', 'note'),
      cell(order.state === 'open' ? pay : ''),
    );
  }

  function say(text, bad) {
    byId('message').textContent = text;
    byId('message').className = bad ? 'bad' : '';
  }

  async function ask(path, init) {
    const response = await fetch(path, init);
    const answer = await response.json();
    if (!response.ok) throw new Error([].concat(answer.message).join('; '));
    return answer;
  }

  async function act(path, body) {
    try {
      await ask(path, { method: 'POST', headers: { 'content-type': 'application/json' }, body: body && JSON.stringify(body) });
      say('');
    } catch (error) {
      say(error.message, true);
    }
    await refresh();
  }

  function create(cents) {
    const [name, priceCents] = GOODS[Math.floor(Math.random() * GOODS.length)];
    const items = [{ name, quantity: 1 + Math.floor(Math.random() * 3), priceCents }];
    const sum = () => items.reduce((total, item) => total + item.quantity * item.priceCents, 0);
    if (cents !== undefined) items.push({ name: 'wrapping', quantity: 1, priceCents: (100 + cents - (sum() % 100)) % 100 });
    return act('/orders', { items, totalCents: sum() });
  }

  let offline = false;
  async function refresh() {
    try {
      const [orders, stats] = await Promise.all([ask('/orders'), ask('/stats')]);
      const wanted = orders.slice(0, 20).map(rowOf);
      if (wanted.length === 0) wanted.push(row(Object.assign(cell('No orders yet.', 'note'), { colSpan: 6, style: 'text-align: left' })));
      const shown = byId('orders').children;
      if (wanted.length !== shown.length || wanted.some((row, i) => row !== shown[i])) byId('orders').replaceChildren(...wanted);
      byId('stats').replaceChildren(...Object.entries(stats).map(([topic, counts]) =>
        row(cell(element('code', topic)), ...[counts.pending, counts.due, counts.inFlight, counts.dead].map((n) => cell(String(n), 'number')))));
      if (offline) say('');
      offline = false;
    } catch {
      offline = true;
      say('The shop does not answer.', true);
    }
  }

  byId('create').onclick = () => create();
  byId('create-never').onclick = () => create(13);
  refresh();
  setInterval(() => document.hidden || refresh(), 500);
</script>
</html>
`;
