import { isIP } from 'node:net'
import type { AttemptError } from '@leadwire/contracts'
import { inSpanOf, type Sealer, SpanKind } from '@leadwire/service-kit'
import type { Dispatcher } from 'undici'
import type { Clock } from '../clock'
import type { ProxyError } from '../egress/dial-through-proxy'
import { openSecrets } from '../endpoints/secrets/sealed-secrets'
import { type AttemptTimeout, post } from './post'
import { type Webhook, webhookHeaders } from './webhook-headers'

export interface Result {
  status: number | null
  /** Null on success, and `ours` when it says nothing about the receiver. */
  error: AttemptError | 'ours' | null
  /** Whether a retry would have the same outcome. */
  permanent?: boolean
  response: string | null
  /** Why it failed, where the receiver's operator could not see it from status and error. */
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
  ours: ['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'internal'],
}

// OpenSSL's verdicts on certificates come without a common prefix.
const TLS_CODE =
  /^(ERR_TLS|ERR_SSL|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_|INVALID_(CA|PURPOSE))/
const PROTOCOL_CODE = /^(HPE_|UND_ERR_(HEADERS_OVERFLOW|RES_|RESPONSE_))/

/** Sorts what a connection or a request threw. Several addresses that all failed count as the first one did. */
export const failureClass = (error: unknown): AttemptError | 'ours' => {
  const { code, name, address = '' } = error as { code?: unknown; name?: unknown; address?: string }
  // Its code is missing when it is not even the version of HTTP that is wrong.
  if (name === 'HTTPParserError') return 'protocol'
  if (typeof code !== 'string') return 'network'
  // A machine without IPv6 has no address of its own to connect from; otherwise its ports are used up.
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
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'An intermediate certificate is missing, or the authority is not trusted.',
}

/** The class of a failure, and why in a sentence where that says more. */
const failureOf = (cause: unknown, isProxied: boolean): Pick<Result, 'error' | 'reason'> => {
  const error = failureClass(cause)
  const { code = '', proxyReason } = cause as ProxyError
  if (proxyReason && error !== 'ours') return { error: 'proxy', reason: proxyReason }
  if (error === 'tls') return { error, reason: TLS_REASONS[code] ?? `The TLS handshake failed: ${code}.` }
  const isUnconnected = isProxied && (cause as AttemptTimeout).isConnected === false
  return isUnconnected ? { error, reason: 'There was no connection through the proxy in time.' } : { error }
}

/** Makes and times an attempt, as a span of its event's trace. `status` names the span's attribute for the status. */
export const timeAttempt = (
  traceparent: string | null,
  { name, status, clock }: { name: string; status: string; clock: Clock },
  attempt: (startedAt: Date) => Promise<Result>,
): Promise<Outcome> =>
  inSpanOf(traceparent, { name, kind: SpanKind.CLIENT }, async (span) => {
    const startedAt = clock.now()
    const result = await attempt(startedAt)
    const durationMs = Math.max(0, clock.now().getTime() - startedAt.getTime())
    if (result.status !== null) span?.setAttribute(status, result.status)
    if (result.error !== null) span?.setAttribute('error.type', result.error)
    return { startedAt, durationMs, ...result }
  })

/** Makes one attempt (interface: Delivery). A 2xx answer within the time is success, everything else a failure. Never rejects. */
export const makeAttempt = (
  webhook: Webhook,
  options: { dispatcher: Dispatcher; sealer: Sealer; timeoutMs: number; clock: Clock; isProxied?: boolean },
): Promise<Outcome> => {
  const { dispatcher, sealer, timeoutMs, clock, isProxied = false } = options
  const { url, body, traceparent } = webhook
  const span = { name: 'POST webhook', status: 'http.response.status_code', clock }
  return timeAttempt(traceparent, span, async (startedAt) => {
    try {
      const headers = webhookHeaders(webhook, { secrets: openSecrets(sealer, webhook), startedAt })
      const { status, response } = await post({ dispatcher, url, headers, body, timeoutMs })
      const isRedirect = REDIRECTS.includes(status)
      return {
        ...{ status, response, error: status >= 200 && status < 300 ? null : 'http_status' },
        ...(isRedirect && { reason: `${status}: redirects are not followed.` }),
      }
    } catch (cause) {
      const { status = null, response = null } = (cause as AttemptTimeout).answer ?? {}
      return { status, response, cause, ...failureOf(cause, isProxied) }
    }
  })
}
