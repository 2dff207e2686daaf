import { deepStrictEqual } from 'node:assert'
import { TypeOverrides, types } from 'pg'

/**
 * Converts a timestamp of PostgreSQL to ISO 8601 with microseconds: `2026-01-02 03:04:05.12+00` becomes
 * `2026-01-02T03:04:05.120000Z`. Throws a TypeError if the text is not a timestamp in UTC.
 */
export const isoMicroseconds = (text: string): string => {
  const match = /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/.exec(text)
  if (!match) throw new TypeError(`"${text}" is not a timestamp in UTC`)
  return `${match[1]}T${match[2]}.${(match[3] ?? '').padEnd(6, '0')}Z`
}

/**
 * Converts values of PostgreSQL to values of JavaScript. An int8 becomes a number, which can hold every int8
 * that Leadwire stores. A timestamp stays text, because a Date has no microseconds. JSON stays the stored
 * text.
 */
export const parsers = new TypeOverrides()
parsers.setTypeParser(types.builtins.INT8, Number)
parsers.setTypeParser(types.builtins.TIMESTAMPTZ, isoMicroseconds)
parsers.setTypeParser(types.builtins.JSON, (text) => text)

const VALUES = {
  text: `SELECT '2026-01-02 03:04:05.678901+00'::timestamptz AS instant, 9007199254740991::int8 AS number, 0.1::float8 AS fraction,
    '{1,NULL}'::int4[] AS list, '{"a":  1}'::json AS json, '\\x00ff'::bytea AS bytes, true AS flag`,
  parsed: {
    instant: '2026-01-02T03:04:05.678901Z',
    number: Number.MAX_SAFE_INTEGER,
    fraction: 0.1,
    list: [1, null],
    json: '{"a":  1}',
    bytes: Buffer.from([0, 255]),
    flag: true,
  },
}

/**
 * Reads one value of each type that statements return. Throws if a parsed value is not as expected. In this
 * case, a setting of the server changes how it writes values, and most calls would fail.
 */
export const checkDatabase = async (database: {
  query(query: { name: string; text: string }): Promise<object[]>
}): Promise<void> => {
  const [row] = await database.query({ name: 'check-types', text: VALUES.text })
  deepStrictEqual({ ...row }, VALUES.parsed)
}
