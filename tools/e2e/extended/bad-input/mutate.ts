import type { Dice } from '@leadwire/test-kit'

const NASTY: unknown[] = [
  null,
  true,
  false,
  0,
  -0,
  1,
  -1,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  -(2 ** 63),
  1e308,
  5e-324,
  0.1,
  '',
  ' ',
  '0',
  '1',
  '-1',
  '1e3',
  'true',
  'null',
  '\0',
  'a\0',
  '\ud800',
  '\udfff\ud800',
  '\u202e',
  '\ufeff',
  '\uffff',
  '🏠'.repeat(300),
  'a'.repeat(2000),
  '%00',
  '%s%n',
  '../../etc/passwd',
  "'; DROP TABLE leads; --",
  '{{7*7}}',
  '31/12/9999 23:59',
  '01/01/0001 00:00',
  '29/03/2026 01:30',
  '2090-01-01T00:00:00Z',
  'a@b.example',
  'SW1A 1AA',
  'http://[::1]/',
  [],
  {},
  [[]],
  [null],
  [{}],
  { a: 1 },
  { toString: 1 },
  { length: -1 },
  { toJSON: 1 },
  { __proto__: null, $ref: '#' },
]

const KEYS = [
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'length',
  '',
  '\0',
  '0',
  '-1',
  'id',
  'account_id',
  'a'.repeat(5000),
]

// Returns a copy, because later mutations may change the value inside the body, but must not change NASTY.
const nasty = (dice: Dice): unknown => structuredClone(dice.pick(NASTY))

type Container = Record<string | number, unknown>

const containersIn = (value: unknown): Container[] =>
  typeof value === 'object' && value !== null
    ? [value as Container, ...Object.values(value).flatMap(containersIn)]
    : []

/**
 * Returns a copy of a body with one to four changes at any depth: a member is deleted, replaced, added,
 * wrapped in an object or a list, repeated up to eight times in a list, or turned into broken JSON text.
 */
export const mutateValue = (dice: Dice, body: object): object => {
  const copy = structuredClone(body)
  for (let left = 1 + dice.below(4); left > 0; left -= 1) {
    const container = dice.pick(containersIn(copy))
    // Never sets `length` on a list, because that would truncate or extend the whole list.
    const others = Array.isArray(container) ? ['0'] : KEYS
    const key = dice.pick(Object.keys(container).length > 0 ? Object.keys(container) : others)
    const strange = dice.pick(others)
    // Reads only own members, because an object inherits `constructor`, for example.
    const value = Object.hasOwn(container, key) ? container[key] : undefined
    const changes = [
      () => delete container[key],
      () => Object.assign(container, { [key]: nasty(dice) }),
      () => Object.assign(container, { [key]: nasty(dice) }),
      () => Object.assign(container, { [key]: [value] }),
      () => Object.assign(container, { [key]: { [dice.pick(KEYS)]: value } }),
      () =>
        Object.defineProperty(container, strange, {
          value: nasty(dice),
          enumerable: true,
          configurable: true,
          writable: true,
        }),
      () =>
        Object.assign(container, {
          [key]: Array.from({ length: 1 + dice.below(8) }, () => structuredClone(value)),
        }),
      () => Object.assign(container, { [key]: JSON.stringify(value) + dice.pick(KEYS) }),
    ]
    dice.pick(changes)()
  }
  return copy
}

/** Copies bytes and flips, inserts, deletes, doubles or truncates bytes at one to eight places. */
export const mutateBytes = (dice: Dice, bytes: Buffer): Buffer => {
  let copy = Buffer.from(bytes)
  for (let left = 1 + dice.below(8); left > 0 && copy.length > 0; left -= 1) {
    const at = dice.below(copy.length)
    const to = Math.min(copy.length, at + 1 + dice.below(20))
    const put = Buffer.from(
      dice.pick([
        '\0',
        '"',
        '{',
        '}',
        '[',
        ']',
        ',',
        '\\',
        '\r\n',
        '--',
        '%',
        '&',
        '=',
        '\u00ff',
        '9'.repeat(40),
      ]),
      'latin1',
    )
    const changes = [
      () => Buffer.concat([copy.subarray(0, at), Buffer.from([dice.below(256)]), copy.subarray(at + 1)]),
      () => Buffer.concat([copy.subarray(0, at), put, copy.subarray(at)]),
      () => Buffer.concat([copy.subarray(0, at), copy.subarray(to)]),
      () => Buffer.concat([copy.subarray(0, to), copy.subarray(at)]),
      () => (dice.below(4) === 0 ? copy.subarray(0, at) : copy),
    ]
    copy = dice.pick(changes)()
  }
  return copy
}
