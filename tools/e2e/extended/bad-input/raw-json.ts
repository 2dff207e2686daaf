/** A piece of JSON that cannot be a JavaScript value, such as a number that is too large. */
export type RawJson = { readonly rawJson: string }

export const rawJson = (text: string): RawJson => ({ rawJson: text })

const isRaw = (value: unknown): value is RawJson =>
  typeof value === 'object' && value !== null && 'rawJson' in value

/** Renders JSON from a value that may contain raw pieces. */
export const toJson = (value: unknown): string => {
  const pieces: string[] = []
  const json = JSON.stringify(value, (_key, member: unknown) =>
    isRaw(member) ? `\u{F0000}${pieces.push(member.rawJson) - 1}\u{F0001}` : member,
  )
  return json.replace(/"\u{F0000}(\d+)\u{F0001}"/gu, (_match, index) => pieces[Number(index)]!)
}
