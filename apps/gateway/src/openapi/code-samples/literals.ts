import { indented, type Json } from './sample-request'

interface Notation {
  indent: number
  words: { true: string; false: string; null: string }
  text: (value: string) => string
  map: { open: string; arrow: string; close: string; empty: string }
  name: (key: string) => string
}

const JSON_WORDS = { true: 'true', false: 'false', null: 'null' }
const BRACES = { open: '{', arrow: ': ', close: '}', empty: '{}' }

const quoted = (value: string) => `'${value.replace(/[\\']/g, '\\$&')}'`

export const JAVASCRIPT: Notation = {
  indent: 2,
  words: JSON_WORDS,
  text: quoted,
  name: (key) => (/^\w+$/.test(key) ? key : quoted(key)),
  map: BRACES,
}

export const PYTHON: Notation = {
  indent: 4,
  words: { true: 'True', false: 'False', null: 'None' },
  // A JSON string is a Python string.
  text: (value) => JSON.stringify(value),
  name: (key) => JSON.stringify(key),
  map: BRACES,
}

export const PHP: Notation = {
  indent: 4,
  words: JSON_WORDS,
  text: quoted,
  name: quoted,
  map: { open: '[', arrow: ' => ', close: ']', empty: 'new stdClass()' },
}

/** A JSON value as a language writes it. */
export const literal = (value: Json, notation: Notation): string => {
  const { words, text, name, map } = notation
  if (typeof value === 'string') return text(value)
  if (typeof value === 'number') return String(value)
  if (value === null || typeof value === 'boolean') return words[`${value}`]
  if (Array.isArray(value)) return `[${value.map((item) => literal(item, notation)).join(', ')}]`
  const members = Object.entries(value).map(
    ([key, member]) => `\n${name(key)}${map.arrow}${literal(member, notation)},`,
  )
  return members.length === 0
    ? map.empty
    : `${map.open}${indented(members.join(''), notation.indent)}\n${map.close}`
}
