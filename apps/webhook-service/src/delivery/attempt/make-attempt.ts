import { isIP } from 'node:net'
import type { AttemptError } from '@leadwire/contracts'
import { continueTrace, type Sealer, SpanKind } from '@leadwire/service-kit'
import type { Dispatcher } from 'undici'
import type { Clock } from '../../clock'
import type { ProxyError } from '../../egress/dial-through-proxy'
import { openSecrets } from '../../endpoints/secrets/sealed-secrets'
import { type AttemptTimeout, post } from './post'
import { renderHeaders, type Webhook } from './webhook-headers'

export interface Result {
  status: number | null
  /**
   * Null on success. `internal` if the attempt failed because of an internal error. Such an attempt is not
   * recorded.
   */
  error: AttemptError | 'internal' | null
  /** Whether a retry would have the same outcome. */
  permanent?: boolean
  response: string | null
  /** Explains the failure to the operator of the receiver, if `status` and `error` do not. */
  reason?: string
  cause?: unknown
}

export interface Outcome extends Result {
  startedAt: Date
  durationMs: number
}

const CODES = {
  timeout: ['ETIMEDOUT', 'ABORT_ERR', 'UND_ERR_CONNECT_TIMEOUT'],
  refused: ['ECONNREFUSED'],
  unreachable: ['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN'],
  reset: ['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'UND_ERR_SOCKET'],
  blocked: ['LEADWIRE_BLOCKED'],
  dns: ['LEADWIRE_DNS'],
  tls: ['EPROTO'],
  internal: ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'internal', 'LEADWIRE_RESOLVER'],
}

// OpenSSL's codes for certificate errors have no common prefix. Node reports codes that it does not know as
// UNSPECIFIED.
const TLS_CODE =
  /^(ERR_TLS|ERR_SSL|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_|INVALID_(CA|PURPOSE)|PATH_LENGTH_|ERROR_IN_|UNSPECIFIED$)/
const PROTOCOL_CODE = /^(HPE_|UND_ERR_(HEADERS_OVERFLOW|RES_|RESPONSE_))/

/** Returns the class of an error that a connection or a request has thrown. */
export const classifyFailure = (error: unknown): AttemptError | 'internal' => {
  const { code, name, address = '' } = error as { code?: unknown; name?: unknown; address?: string }
  // Checks the name first, because a parser error has no code if the response is not HTTP at all.
  if (name === 'HTTPParserError') return 'protocol'
  if (typeof code !== 'string') return 'network'
  // With IPv6 this code means that the machine has no IPv6 address. With IPv4 it means that all ports are in
  // use.
  if (code === 'EADDRNOTAVAIL' && isIP(address) === 6) return 'unreachable'
  const known = Object.entries(CODES).find(([, codes]) => codes.includes(code))
  if (known) return known[0] as keyof typeof CODES
  if (TLS_CODE.test(code)) return 'tls'
  return PROTOCOL_CODE.test(code) ? 'protocol' : 'network'
}

const REDIRECTS = [301, 302, 303, 307, 308]

const TLS_REASONS: Record<string, string> = {
  CERT_HAS_EXPIRED: 'The certificate has expired.',
  CERT_NOT_YET_VALID: 'The certificate is not valid yet.',
  ERR_TLS_CERT_ALTNAME_INVALID: 'The certificate is for another host name.',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'The certificate is self-signed.',
  SELF_SIGNED_CERT_IN_CHAIN: "The certificate's authority is not trusted.",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "The certificate's authority is not trusted.",
  PATH_LENGTH_EXCEEDED: 'The certificate chain is longer than one of its authorities permits.',
  INVALID_CA: 'The issuer of the certificate is not an authority.',
  INVALID_PURPOSE: 'The certificate is not a server certificate.',
  CERT_REVOKED: 'The certificate is revoked.',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    'The receiver requires a client certificate. Leadwire does not send client certificates.',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'An intermediate certificate is missing, or the authority is not trusted.',
}

const explainTls = (code: string, { message }: Error): string => {
  if (code === 'UNSPECIFIED') return `The certificate is not valid: ${message}.`
  return TLS_REASONS[code] ?? `The TLS handshake failed: ${code}.`
}

/** Returns the class of a failure. Adds a sentence that explains the failure if the class alone does not. */
const describeFailure = (cause: unknown, isProxied: boolean): Pick<Result, 'error' | 'reason'> => {
  const error = classifyFailure(cause)
  const { code = '', proxyReason } = cause as ProxyError
  if (proxyReason && error !== 'internal') return { error: 'proxy', reason: proxyReason }
  if (error === 'tls') return { error, reason: explainTls(code, cause as Error) }
  const isUnconnected = isProxied && (cause as AttemptTimeout).isConnected === false
  if (isUnconnected) return { error, reason: 'The proxy did not open a connection in time.' }
  return { error }
}

/**
 * Calls `attempt` in a span of the event's trace (`traceparent`), and measures how long the attempt takes.
 * `status` names the attribute of the span that gets the status of the response.
 */
export const timeAttempt = <Made extends Result>(
  traceparent: string | null,
  { name, status, clock }: { name: string; status: string; clock: Clock },
  attempt: (startedAt: Date) => Promise<Made>,
): Promise<Made & Outcome> =>
  continueTrace(traceparent, { name, kind: SpanKind.CLIENT }, async (span) => {
    const startedAt = clock.now()
    const result = await attempt(startedAt)
    const durationMs = Math.max(0, clock.now().getTime() - startedAt.getTime())
    if (result.status !== null) span?.setAttribute(status, result.status)
    if (result.error !== null) span?.setAttribute('error.type', result.error)
    return { startedAt, durationMs, ...result }
  })

/**
 * Makes one attempt, as the lead API prescribes (section Delivery). A 2xx response within `timeoutMs` is a
 * success, and any other outcome is a failure. Never rejects.
 */
export const makeAttempt = (
  webhook: Webhook,
  options: { dispatcher: Dispatcher; sealer: Sealer; timeoutMs: number; clock: Clock; isProxied?: boolean },
): Promise<Outcome> => {
  const { dispatcher, sealer, timeoutMs, clock, isProxied = false } = options
  const { url, body, traceparent } = webhook
  const span = { name: 'POST webhook', status: 'http.response.status_code', clock }
  return timeAttempt(traceparent, span, async (startedAt) => {
    try {
      const headers = renderHeaders(webhook, { secrets: openSecrets(sealer, webhook), startedAt })
      const { status, response } = await post({ dispatcher, url, headers, body, timeoutMs })
      if (status >= 200 && status < 300) return { status, response, error: null }
      if (!REDIRECTS.includes(status)) return { status, response, error: 'http_status' }
      return { status, response, error: 'http_status', reason: `${status}: redirects are not followed.` }
    } catch (cause) {
      const { status = null, response = null } = (cause as AttemptTimeout).response ?? {}
      return { status, response, cause, ...describeFailure(cause, isProxied) }
    }
  })
}
