import type { AttemptError } from '@leadwire/contracts'

const CODES = {
  timeout: ['ETIMEDOUT', 'ABORT_ERR', 'UND_ERR_CONNECT_TIMEOUT'],
  refused: ['ECONNREFUSED'],
  unreachable: ['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN'],
  reset: ['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'UND_ERR_SOCKET'],
  blocked: ['LEADWIRE_BLOCKED'],
  dns: ['LEADWIRE_DNS'],
  tls: ['EPROTO'],
  ours: ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'internal'],
}

type FailureClass = AttemptError | 'ours'

// OpenSSL's verdicts on certificates come without a common prefix.
const TLS_CODE =
  /^(ERR_TLS|ERR_SSL|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_|INVALID_(CA|PURPOSE))/
const PROTOCOL_CODE = /^(HPE_|UND_ERR_(HEADERS_OVERFLOW|RES_|RESPONSE_))/

/** Sorts what a connection or a request threw. Several addresses that all failed count as the first one did. */
export const failureClass = (error: unknown): FailureClass => {
  const { code, name } = error as { code?: unknown; name?: unknown }
  // Its code is missing when it is not even the version of HTTP that is wrong.
  if (name === 'HTTPParserError') return 'protocol'
  if (typeof code !== 'string') return 'network'
  const known = Object.entries(CODES).find(([, codes]) => codes.includes(code))
  if (known) return known[0] as keyof typeof CODES
  if (TLS_CODE.test(code)) return 'tls'
  return PROTOCOL_CODE.test(code) ? 'protocol' : 'network'
}
