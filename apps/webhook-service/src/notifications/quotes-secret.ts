/** How many consecutive characters of a secret count as a quotation. */
const QUOTED_LENGTH = 8

/**
 * Returns whether a text quotes a part of the secret of a link, which follows the `#`. A part is enough,
 * because an encoded e-mail may break the link into several lines.
 */
export const quotesSecret = (text: string, link: string): boolean => {
  const secret = link.slice(link.indexOf('#') + 1).toLowerCase()
  const quoted = text.toLowerCase()
  for (let start = 0; start + QUOTED_LENGTH <= secret.length; start += 1)
    if (quoted.includes(secret.slice(start, start + QUOTED_LENGTH))) return true
  return false
}
