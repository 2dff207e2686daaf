const OCTET = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const IPV4 = `(${OCTET}[.]){3}${OCTET}`

const GROUP = '[0-9A-Fa-f]{1,4}'
const LAST_32_BITS = `(${GROUP}:${GROUP}|${IPV4})`

/** Returns a pattern that matches at most `count` groups. */
const upTo = (count: number) => `((${GROUP}:){0,${count - 1}}${GROUP})?`

// The grammar of RFC 3986, 3.2.2.
const IPV6 = [
  `(${GROUP}:){6}${LAST_32_BITS}`,
  `::(${GROUP}:){5}${LAST_32_BITS}`,
  `${upTo(1)}::(${GROUP}:){4}${LAST_32_BITS}`,
  `${upTo(2)}::(${GROUP}:){3}${LAST_32_BITS}`,
  `${upTo(3)}::(${GROUP}:){2}${LAST_32_BITS}`,
  `${upTo(4)}::${GROUP}:${LAST_32_BITS}`,
  `${upTo(5)}::${LAST_32_BITS}`,
  `${upTo(6)}::${GROUP}`,
  `${upTo(7)}::`,
].join('|')

/**
 * Matches IPv4 and IPv6 addresses. Does not match IPv6 zones, which Node's `isIP` accepts. A pattern is
 * needed because JSON Schema has no format for "IPv4 or IPv6", and client generators write invalid code for
 * a choice of two formats.
 */
export const IP_PATTERN = `^(${IPV4}|${IPV6})$`
