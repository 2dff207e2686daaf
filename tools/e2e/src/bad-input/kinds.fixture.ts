import { type RawJson, rawJson } from './raw-json'
import type { World } from './world.fixture'

/** The field is left out. */
export const MISSING = Symbol('missing')

export type Case = { what: string; value: unknown }

/** What a kind of field refuses and what it takes. A value that is a function is made from the world it is sent to. */
export type Kind = { wrong: Case[]; right: Case[] }

type Named = string | number | boolean | null | RawJson | unknown[] | object

const named = (...values: Named[]): Case[] =>
  values.map((value) => {
    const text = 'rawJson' in Object(value) ? (value as RawJson).rawJson : JSON.stringify(value)
    return { what: text.length > 60 ? `${text.slice(0, 57)}... of ${text.length}` : text, value }
  })

const EMPTY: Case[] = [
  { what: 'nothing', value: MISSING },
  ...named(null, '', '   ', '\t\r\n ', '\u200b', '\u202e\u00ad\ufeff\u3164\u2028\x1b'),
]

// No field of any kind may hold these.
const UNSTORABLE = named('a\0b', '\0', 'open\0', '1\0', '\ud800', 'a\udc00b', '\udc00\ud800')

const NO_SCALARS = named([], {}, ['open'], { a: 'b' }, [[]], [null])

const required = (kind: Kind): Kind => ({ wrong: [...EMPTY, ...kind.wrong], right: kind.right })
const optional = (kind: Kind): Kind => ({ wrong: kind.wrong, right: [...EMPTY, ...kind.right] })

const letters = (count: number, letter = 'a') => letter.repeat(count)

const NO_TEXTS = [...named(0, 5, -1.5, true, false, rawJson('1e400')), ...NO_SCALARS]

/** Free text of up to `max` code points. */
export const text = ({ max = 255, sample }: { max?: number; sample?: string[] } = {}): Kind => ({
  wrong: [...NO_TEXTS, ...UNSTORABLE, ...named(letters(max + 1), letters(max + 1, '🏠'), `${letters(max)}é`)],
  right: named(
    ...(sample ?? []),
    letters(max),
    letters(max, '🏠'),
    `  ${letters(max)}  `,
    "Robert'); DROP TABLE leads;--",
    '<script>alert(1)</script>',
    '\u202Eevil\u202C',
    'By\nron\x1b[31m',
    '%s%n{{7*7}}',
    'Łukasz 李 محمد',
  ),
})

/** A whole number from `min` to `max`; JSON numbers, and digits in a string. */
export const integer = ({ min, max }: { min: number; max: number }): Kind => ({
  wrong: [
    ...named(
      true,
      false,
      1.5,
      -0.5,
      rawJson('1e-1'),
      rawJson('1e400'),
      rawJson('-1e400'),
      rawJson('9007199254740993'),
    ),
    ...named(
      rawJson('1e30'),
      rawJson('18446744073709551616'),
      '9007199254740993',
      '1e3',
      '0x10',
      '1.0',
      '1,000',
      '+1',
      '--1',
      '1 2',
    ),
    ...named('one', 'NaN', 'Infinity', 'null', '１', '१', '1_0', '1n', letters(400, '9')),
    ...(min > Number.MIN_SAFE_INTEGER ? named(min - 1, String(min - 1)) : []),
    ...(max < Number.MAX_SAFE_INTEGER ? named(max + 1, String(max + 1)) : named(rawJson('9007199254740992'))),
    ...NO_SCALARS,
    ...UNSTORABLE,
  ],
  right: named(min, max, String(min), ` ${max} `),
})

/** The id of something that is not there, beside what is no id at all. */
export const id = ({ known }: { known: (world: World) => number }): Kind => {
  const { wrong } = integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
  return {
    wrong: [...wrong, ...named(999_999_999, Number.MAX_SAFE_INTEGER, '999999999')],
    right: [
      { what: 'a known id', value: known },
      { what: 'a known id in digits', value: (world: World) => ` ${known(world)} ` },
    ],
  }
}

export const boolean: Kind = {
  wrong: [
    ...named('TRUE', 'True', 'yes', 'on', 2, -1, 0.5, '2', '01', '1.0', rawJson('1e400')),
    ...NO_SCALARS,
    ...UNSTORABLE,
  ],
  right: named(true, false, 1, 0, '1', '0', 'true', 'false'),
}

// Words that a careless look-up in an object would find.
const INHERITED = named('constructor', '__proto__', 'toString', 'hasOwnProperty')

const nearMisses = (word: string): string[] =>
  [
    word.toUpperCase(),
    word.toLowerCase(),
    word[0]!.toUpperCase() + word.slice(1),
    `${word}s`,
    word.slice(0, -1),
    word.slice(1),
    `${word},`,
    `"${word}"`,
    `${word[0]}\u200b${word.slice(1)}`,
    `${word[0]} ${word.slice(1)}`,
    word.replace(/[ _]/, '-'),
    word.replace(/[ _]/, '  '),
    word.replace(' ', ''),
    word.replace('_', ' '),
    word.replace('o', 'о'),
  ].filter((miss) => miss !== word)

/** One of some words, exactly. */
export const oneOf = (words: readonly string[], besides: string[] = []): Kind => ({
  wrong: [
    ...NO_TEXTS,
    ...UNSTORABLE,
    ...INHERITED,
    ...named(...new Set([...besides, ...words.flatMap(nearMisses)].filter((miss) => !words.includes(miss)))),
    ...named(words.slice(0, 1), letters(1000)),
  ],
  right: named(...words, ` ${words[0]} `),
})

export const email: Kind = {
  wrong: [
    ...NO_TEXTS,
    ...UNSTORABLE,
    ...named(
      'plain',
      '@',
      '@b.example',
      'a@',
      'a@@b.example',
      'a@b@c.example',
      'a b@c.example',
      'a@b c.example',
    ),
    ...named(
      'a@b..example',
      '.a@b.example',
      'a.@b.example',
      'a..b@c.example',
      'a@-b.example',
      'a@b-.example',
    ),
    ...named(
      'Ada <ada@b.example>',
      'a@b.example,c@d.example',
      'a@b.example;',
      'a@b.example\r\nBcc: c@d.example',
    ),
    ...named(
      'a\n@b.example',
      'a@b.example\n.c',
      'mailto:a@b.example',
      `${letters(65)}@b.example`,
      `a@${letters(64)}.example`,
    ),
    ...named(
      `${letters(60)}@${`${letters(60)}.`.repeat(4)}example`,
      '"a@b.example',
      'a@.example',
      'a@b.example.',
      'a@192.168.0.1',
      'a@[192.168.0.1]',
    ),
  ],
  right: named(
    "o'hara+windows@b.example.co.uk",
    ' ADA@B.example ',
    'ü@bücher.example',
    'संपर्क@डाटामेल.भारत',
    'jose\u0301@b.example',
    'a@xn--bcher-kva.example',
    `${letters(64)}@${letters(63)}.example`,
  ),
}

export const phone: Kind = {
  wrong: [...NO_TEXTS, ...UNSTORABLE, ...named('none', '-', '+', '() ext.', letters(256, '1'), letters(256))],
  right: named(
    '020 7946 0123',
    '+44 (0)20 7946 0123',
    '07700900123',
    '1',
    '+1 212 555 0100',
    letters(255, '1'),
    'ask for Ada: 5',
  ),
}

export const postcode: Kind = {
  wrong: [
    ...NO_TEXTS,
    ...UNSTORABLE,
    ...named(
      'A',
      '12345',
      'SW1A',
      'SW1A 1A',
      'SW1A 1AAA',
      '1AA SW1A',
      'SW1A-1AA',
      'SWA1 1AA',
      'ABC1 1AA',
      'SW1A 11A',
    ),
    ...named(
      'GIR 0AB',
      'GIR 1AA',
      'ＳＷ１Ａ １ＡＡ',
      'ſw1a 1aa',
      'ß1 1AA',
      'SW1A 1AA, London',
      'SW1A 1AA\nM1 1AE',
      letters(256),
      '0A1 1AA',
    ),
  ],
  right: named(
    'GIR 0AA',
    'gir0aa',
    'sw1a1aa',
    ' m1  1ae ',
    'B33 8TH',
    'CR2 6XH',
    'DN551PT',
    'W1A 0AX',
    'ec1a 1bb',
    'bfpo61',
    'FIQQ 1ZZ',
    'sw1a\u200b1aa',
  ),
}

/** `dd/mm/yyyy hh:mm` on the clocks of London. */
export const localDateTime: Kind = {
  wrong: [
    ...NO_TEXTS,
    ...UNSTORABLE,
    ...named(
      '31/02/2026 10:00',
      '29/02/2026 10:00',
      '29/02/1900 10:00',
      '31/04/2026 10:00',
      '00/01/2026 10:00',
    ),
    ...named(
      '01/00/2026 10:00',
      '01/13/2026 10:00',
      '12/31/2026 10:00',
      '32/01/2026 10:00',
      '01/02/2026 24:00',
    ),
    ...named(
      '01/02/2026 10:60',
      '01/02/2026 25:00',
      '29/03/2026 01:00',
      '29/03/2026 01:30',
      '29/03/2026 01:59',
    ),
    ...named('28/03/2027 01:30', '1/2/2026 10:00', '01/02/26 10:00', '01/02/2026 1:00', '2026-02-01 10:00'),
    ...named(
      '2026-02-01T10:00:00Z',
      '01-02-2026 10:00',
      '01.02.2026 10:00',
      '01/02/2026T10:00',
      '01/02/2026 10:00:00',
    ),
    ...named(
      '01/02/2026',
      '10:00',
      '01/02/0000 10:00',
      '01/02/-001 10:00',
      '01/02/12026 10:00',
      '01/02/2026  10:00',
    ),
    ...named(
      '01/02/2026\t10:00',
      '01/02/2026 10:00 GMT',
      '01/02/2026 10.00',
      '０１/02/2026 10:00',
      'tomorrow',
      '1767225600',
    ),
    ...named(
      '01/02/2026 10:00x',
      'x01/02/2026 10:00',
      '01/02/2026 10:00\n01/02/2026 10:00',
      '01/02/2026 -1:00',
      letters(300, '1'),
    ),
  ],
  right: named(
    '24/12/2026 14:30',
    ' 24/12/2026 14:30 ',
    '29/02/2028 23:59',
    '29/02/2000 00:00',
    '01/01/1970 00:00',
  ),
}

/** An instant that says its offset, in the future. */
export const instant: Kind = {
  wrong: [
    ...NO_TEXTS,
    ...UNSTORABLE,
    ...named(
      '2090-01-01',
      '2090-01-01T00:00:00',
      '2090-02-30T00:00:00Z',
      '2090-13-01T00:00:00Z',
      '01/01/2090 00:00',
    ),
    ...named(
      '2090-01-01T25:00:00Z',
      '2000-01-01T00:00:00Z',
      '0000-01-01T00:00:00Z',
      'never',
      'infinity',
      'now',
      'tomorrow',
    ),
    ...named('-271821-04-20T00:00:00Z', '+275760-09-13T00:00:00Z', '3786825600', letters(300, '9')),
  ],
  right: named('2090-01-01T00:00:00Z', '2090-01-01T00:00:00.123456+05:30', '9999-12-31T23:59:59Z'),
}

export const webUrl: Kind = {
  wrong: [
    ...NO_TEXTS,
    ...UNSTORABLE,
    ...named(
      'example.com',
      '//example.com/x',
      '/hooks',
      'ftp://example.com',
      'file:///etc/passwd',
      'javascript:alert(1)',
    ),
    ...named(
      'http://',
      'https://',
      'http:example.com',
      'http://user@example.com',
      'http://user:pw@example.com',
      'http://:pw@example.com',
    ),
    ...named(
      'http://exa mple.com',
      'http://example.com:99999',
      'http://[::1',
      'http://%00.example',
      'https://example.com/\r\nX-A: b',
    ),
    ...named(
      'http://ex\nample.com',
      'gopher://example.com',
      'data:text/plain,x',
      `https://example.com/${letters(2048)}`,
    ),
  ],
  right: named(
    'https://example.com',
    'HTTPS://EXAMPLE.com/hooks?a=b',
    'http://127.0.0.1:9/hooks',
    'https://bücher.example/ü',
  ),
}

export const uuid: Kind = {
  wrong: [
    ...UNSTORABLE,
    ...named('x', '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f1', '0b0b4a3e6f0a4f0e9c532f6f5a3f7f10'),
  ],
  right: named('0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10', '0B0B4A3E-6F0A-4F0E-9C53-2F6F5A3F7F10'),
}

export const ip: Kind = {
  wrong: [
    ...NO_TEXTS,
    ...UNSTORABLE,
    ...named('localhost', '1.2.3', '1.2.3.256', '1.2.3.4/24', '1.2.3.4:80', '::g', '[::1]', '01.2.3.4'),
  ],
  right: named('203.0.113.7', '2001:db8::1', ' ::1 '),
}

/** Any number a double holds. */
export const decimal: Kind = {
  wrong: [...named('one', '1e3', '1,5', true, rawJson('1e400'), '0x10', 'NaN'), ...NO_SCALARS, ...UNSTORABLE],
  right: named(0, -1.5, 0.1, '12.5', rawJson('1e300')),
}

/** An object with members of its own. */
export const object: Kind = { wrong: named(5, true, 'text', [], [{}]), right: [] }

/** A list of at most `max` objects. */
export const listOf = (max: number, element: unknown): Kind => ({
  wrong: named(
    {},
    { 0: {} },
    'text',
    5,
    true,
    Array.from({ length: max + 1 }, () => element),
  ),
  right: named([]),
})

export { optional, required }
