import { domainToUnicode } from 'node:url'

const split = (email: string): [local: string, domain: string] => {
  const at = email.lastIndexOf('@')
  return [email.slice(0, at), email.slice(at + 1)]
}

/**
 * Returns an e-mail address in NFC, with an international domain written in Unicode instead of Punycode.
 * Spellings of one address then differ only in letter case.
 */
export const emailForm = (email: string): string => {
  const [local, domain] = split(email.normalize('NFC'))
  const isForeign = /xn--|\P{ASCII}/iu.test(domain)
  return `${local}@${(isForeign && domainToUnicode(domain)) || domain}`
}

/**
 * Returns the key by which e-mail addresses are compared. All spellings and letter cases of one address have
 * the same key. The conversion to upper case comes first, because it makes ß and SS equal.
 */
export const emailKey = (email: string): string => {
  const [local, domain] = split(emailForm(email))
  return `${local.toUpperCase().toLowerCase()}@${domain.toLowerCase()}`
}
