const MAX_LENGTH = 60;

/** A value as an error message shows it: short, on one line, and without calling anything the value brings along. */
export function describeValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value.length > MAX_LENGTH
        ? `${JSON.stringify(value.slice(0, MAX_LENGTH))}… (${value.length} characters)`
        : JSON.stringify(value);
    case 'bigint':
      return `${value}n`;
    case 'object':
      return describeObject(value);
    case 'function':
      return 'a function';
    default:
      return String(value);
  }
}

function describeObject(value: object | null): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? 'an invalid Date' : `the Date ${value.toISOString()}`;
  }
  return 'an object';
}
