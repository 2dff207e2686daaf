/** Placeholders in a body. `insertNextPerson` replaces them. */
export const LETTERS = 'aaaaaaaa'
export const DIGITS = '00000000'

let people = 0

/**
 * Replaces the placeholders of a body, so that each body has a new person: LETTERS in the last name and in
 * the e-mail address, and DIGITS in the telephone number. A lead of a known person would cause a second
 * event, `lead.duplicate_suspected`.
 */
export const insertNextPerson = (body: string | Buffer): string | Buffer => {
  if (typeof body !== 'string' || !body.includes(LETTERS)) return body
  people += 1
  const digits = String(people).padStart(DIGITS.length, '0')
  const letters = digits.replace(/\d/g, (digit) => 'abcdefghij'[Number(digit)]!)
  return body.replace(LETTERS, letters).replace(LETTERS, letters).replace(DIGITS, digits)
}
