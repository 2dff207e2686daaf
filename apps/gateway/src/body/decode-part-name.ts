import { whenValid } from '@leadwire/service-kit'

const decodeUri = (text: string): string => whenValid(() => decodeURIComponent(text)) ?? text

/**
 * Matches a name that the sender may have encoded as a whole. Such a name has only printable ASCII
 * characters, no spaces and no quotes, and each percent sign begins an escape.
 */
const ENCODED_WHOLE = /^(?:%[\dA-F]{2}|[!#-$&-~])*$/i
/** Matches an escape of a quote or a line break, which every browser encodes, or of a byte beyond ASCII. */
const IS_ENCODED = /%(?:22|0D|0A|[89A-F][\dA-F])/i

/**
 * Decodes the name of a field or a file. Browsers encode only `"`, CR and LF, and do not encode a percent
 * sign (the HTML standard, "escape a multipart/form-data name"). Some clients encode all bytes except the
 * unreserved bytes (RFC 7578, 4.2). Names such as `100%25.txt` and `a%20b.txt` may come from either kind of
 * sender, so the function does not decode such names.
 */
export const decodePartName = (name: string): string => {
  if (!IS_ENCODED.test(name)) return name
  if (ENCODED_WHOLE.test(name)) {
    const decoded = decodeUri(name)
    if (decoded !== name) return decoded
  }
  return name
    .replace(/%22/g, '"')
    .replace(/%0D/gi, '\r')
    .replace(/%0A/gi, '\n')
    .replace(/(?:%[89A-F][\dA-F])+/gi, decodeUri)
}
