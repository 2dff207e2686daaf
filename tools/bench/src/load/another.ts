/** In a body: what `another` replaces. */
export const [LETTERS, DIGITS] = ['aaaaaaaa', '00000000']

let sent = 0

/** The body of the next lead: of another person, whom no earlier lead is suspected to be. */
export const another = <Body>(body: Body): Body => {
  if (typeof body !== 'string' || !body.includes(LETTERS)) return body
  sent += 1
  const digits = String(sent).padStart(DIGITS.length, '0')
  const letters = digits.replace(/\d/g, (digit) => 'abcdefghij'[Number(digit)]!)
  // The last name, then the address.
  return body.replace(LETTERS, letters).replace(LETTERS, letters).replace(DIGITS, digits) as Body & string
}
