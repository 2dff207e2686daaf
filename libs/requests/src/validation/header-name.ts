/** Matches a header name: a token of RFC 9110, 5.6.2. */
export const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

// Headers that an endpoint may not add: headers that each attempt sets (the lead API, section Delivery),
// headers that describe the body, and headers that control the connection (RFC 9110, 7.6.1).
const RESERVED = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'host',
  'user-agent',
  'traceparent',
  'tracestate',
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
])

const isReserved = (name: string): boolean => RESERVED.has(name) || /^(webhook|x-service)-/.test(name)

/** Returns whether an endpoint may add a header with this name to its webhooks. */
export const isOwnHeader = (name: string): boolean =>
  HEADER_NAME.test(name) && !isReserved(name.toLowerCase())
