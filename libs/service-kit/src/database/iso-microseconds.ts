/**
 * PostgreSQL's text for a timestamptz in UTC as ISO 8601 with six digits and a Z.
 * PostgreSQL leaves out trailing zeros: `2026-01-02 03:04:05.12+00` is `2026-01-02T03:04:05.120000Z`.
 */
export const isoMicroseconds = (text: string): string => {
  const match = /^(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?\+00$/.exec(text)
  if (!match) throw new TypeError(`"${text}" is no timestamp in UTC`)
  return `${match[1]}T${match[2]}.${(match[3] ?? '').padEnd(6, '0')}Z`
}
