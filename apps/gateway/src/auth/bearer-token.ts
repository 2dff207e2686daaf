// RFC 6750's b64token; a scheme's name is case-insensitive (RFC 9110, 11.1).
const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i

/** The token of an Authorization header; undefined when there is none or it is not a bearer token. */
export const bearerToken = (header: string | undefined): string | undefined =>
  header === undefined ? undefined : BEARER.exec(header)?.[1]
