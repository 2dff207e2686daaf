import { domainToUnicode } from 'node:url'

const split = (email: string): [local: string, domain: string] => {
  const at = email.lastIndexOf('@')
  return [email.slice(0, at), email.slice(at + 1)]
}

/** An e-mail address in NFC whose domain, where it has other letters than ASCII, is written in them: what two spellings of one have in common. */
export const emailForm = (email: string): string => {
  const [local, domain] = split(email.normalize('NFC'))
  const isForeign = /xn--|\P{ASCII}/iu.test(domain)
  return `${local}@${(isForeign && domainToUnicode(domain)) || domain}`
}

/** What all spellings of an e-mail address have in common, whatever their case (ß and SS are one letter). */
export const emailKey = (email: string): string => {
  const [local, domain] = split(emailForm(email))
  return `${local.toUpperCase().toLowerCase()}@${domain.toLowerCase()}`
}
