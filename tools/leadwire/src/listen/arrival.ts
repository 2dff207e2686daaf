import { verify, verifyStandard } from '@leadwire/webhook-receiver'
import { printable, printableLines } from '../output'

/** A webhook as it came, or as it was fetched. */
export interface Arrival {
  at: Date
  /** As they were sent: name, value, name, value … */
  rawHeaders: string[]
  body: Buffer
}

export interface Verification {
  verified: boolean
  /** Verified, but its webhook-id came before: a retry. */
  again: boolean
  /** What is wrong with either signature; empty when verified. */
  errors: string[]
}

/** Checks both signatures; each must be right. `seen` are the ids of what verified before. */
export const verifyArrival = (
  { at, rawHeaders, body }: Arrival,
  { secret, seen }: { secret: string; seen: Set<string> },
): Verification => {
  const service = verify(body, rawHeaders, secret)
  const standard = verifyStandard(body, rawHeaders, secret, { now: at })
  const errors = [
    ...(service.ok ? [] : [`X-SERVICE-Signature: ${service.code}`]),
    ...(standard.ok ? [] : [`webhook-signature: ${standard.code}`]),
  ]
  const again = standard.ok && seen.has(standard.id)
  if (standard.ok) seen.add(standard.id)
  return { verified: errors.length === 0, again, errors }
}

/** The lines an arrival is printed as. `outcome` says what became of it, where it was passed on. */
export const describe = (
  { at, rawHeaders, body }: Arrival,
  { verified, again, errors }: Verification,
  outcome: string | undefined,
): string => {
  const verdict = verified ? `yes${again ? ' (seen before)' : ''}` : `no (${errors.join(', ')})`
  const json = jsonIn(body)
  const headers = pairs(rawHeaders).filter(([header]) => !TRANSPORT.has(header.toLowerCase()))
  const head = [
    [at.toISOString(), ...subjectOf(json), `verified: ${verdict}`].join('  '),
    ...headers.map(([header, value]) => `  ${header}: ${value}`),
    ...(outcome === undefined ? [] : [`  ${outcome}`]),
  ]
  const text = json === undefined ? body.toString() : JSON.stringify(json, null, 2)
  return [...head.map(printable), printableLines(text).replace(/^/gm, '  ')].join('\n')
}

const TRANSPORT = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive'])

/** A flat list of headers without those that belong to one connection (RFC 9110, 7.6.1), Host and length among them. */
export const endToEnd = (rawHeaders: string[]): string[] =>
  pairs(rawHeaders)
    .filter(([name]) => !TRANSPORT.has(name.toLowerCase()))
    .flat()

const pairs = (flat: string[]): [string, string][] =>
  flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : []))

const jsonIn = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

interface Body {
  type?: unknown
  data?: { reference?: unknown; lead_reference?: unknown; name?: unknown; status?: unknown } | null
}

/** What a body is about. Lead Created alone has no type. */
const subjectOf = (json: unknown): string[] => {
  const { type = 'lead.created', data } = (json ?? {}) as Body
  if (!data) return []
  const reference = data.lead_reference ?? data.reference
  return [type, reference && `lead ${reference}`, data.name, data.status].filter(Boolean).map(String)
}
