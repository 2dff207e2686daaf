const ATOM = /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+$/u
const QUOTED = /^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\[\x20-\x7e])*"$/
const LABEL = /^[\p{L}\p{N}](?:[\p{L}\p{N}-]{0,61}[\p{L}\p{N}])?$/u

/** An address that mail could be sent to, by the shapes of RFC 5321 and 6531; nothing is looked up. */
export const isEmail = (text: string): boolean => {
  if (text.length > 320) return false
  const at = text.lastIndexOf('@')
  const local = text.slice(0, at)
  const labels = text.slice(at + 1).split('.')
  return (
    at > 0 &&
    Buffer.byteLength(local) <= 64 &&
    (QUOTED.test(local) || local.split('.').every((atom) => ATOM.test(atom))) &&
    // One label alone is a host of somebody's own network, where no customer lives.
    labels.length > 1 &&
    labels.every((label) => LABEL.test(label))
  )
}
