/** British forms of address, ranks and orders, and the words that forms offer to people without a title. */
const WORDS = new Set(
  `mr mister mrs missus ms miss mx master mstr sir madam madame dame lord lady the rt right hon honourable
  dr doctor prof professor rev revd reverend fr father sister brother pastor canon dean vicar rabbi imam bishop
  archbishop cllr councillor judge baron baroness viscount viscountess earl countess duke duchess
  admiral adm brigadier brig captain capt colonel col commander cdr corporal cpl general gen lieutenant lt
  major maj sergeant sgt flt sqn ldr wg cmdr other none`.split(/\s+/),
)

const PHRASES = new Set(['prefer not to say', 'rather not say', 'n/a'])

/** Returns whether a text is a salutation, such as `Mrs`, `Dr.`, `Mr & Mrs` or `The Rev'd Prof`. */
export const isSalutation = (title: string): boolean => {
  const plain = title.toLowerCase().replace(/[.'’]/g, '').trim()
  if (PHRASES.has(plain)) return true
  const words = plain.split(/[^\p{L}]+|\band\b/u).filter((word) => word !== '')
  return words.length > 0 && words.every((word) => WORDS.has(word))
}
