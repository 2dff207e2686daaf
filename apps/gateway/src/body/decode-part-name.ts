import { whenValid } from '@leadwire/service-kit'

const decodeUri = (text: string): string => whenValid(() => decodeURIComponent(text)) ?? text

/**
 * Matches a name of printable ASCII without spaces, quotes and stray percent signs. A sender that encodes
 * all other characters produces such a name.
 */
const ENCODED_WHOLE = /^(?:%[\dA-F]{2}|[!#-$&-~])*$/i
/** Matches encoded quotes and line breaks, which no browser sends raw, and encoded bytes beyond ASCII. */
const IS_ENCODED = /%(?:22|0D|0A|[89A-F][\dA-F])/i

/**
 * Decodes the name of a field or a file. Browsers encode only `"`, CR and LF, and leave a percent sign as
 * it is (the HTML standard, "escape a multipart/form-data name"). Some clients encode all bytes except the
 * unreserved ones (RFC 7578, 4.2). `100%25.txt` and `a%20b.txt` may come from either kind of sender, so they
 * are not decoded.
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
