import { verify, verifyStandard } from '@leadwire/webhook-receiver'
import { printable, printableLines } from '../output'

/** A webhook as an attempt would send it. */
export interface Arrival {
  at: Date
  /** Alternating names and values. */
  rawHeaders: string[]
  body: Buffer
}

/** Returns the errors of the two signatures, or an empty list if both are valid. */
export const verifyArrival = ({ at, rawHeaders, body }: Arrival, secret: string): string[] => {
  const service = verify(body, rawHeaders, secret)
  const standard = verifyStandard(body, rawHeaders, secret, { now: at })
  return [
    ...(service.ok ? [] : [`X-SERVICE-Signature: ${service.code}`]),
    ...(standard.ok ? [] : [`webhook-signature: ${standard.code}`]),
  ]
}

/** Renders an arrival as lines. `outcome` is the result of forwarding it, if it was forwarded. */
export const describe = (
  { at, rawHeaders, body }: Arrival,
  errors: string[],
  outcome: string | undefined,
): string => {
  const verdict = errors.length === 0 ? 'yes' : `no (${errors.join(', ')})`
  const json: unknown = JSON.parse(body.toString())
  const head = [
    [at.toISOString(), ...listSubject(json), `verified: ${verdict}`].join('  '),
    ...listPairs(rawHeaders).map(([header, value]) => `  ${header}: ${value}`),
    ...(outcome === undefined ? [] : [`  ${outcome}`]),
  ]
  return [...head.map(printable), printableLines(JSON.stringify(json, null, 2)).replace(/^/gm, '  ')].join(
    '\n',
  )
}

const listPairs = (flat: string[]): [string, string][] =>
  flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : []))

interface Body {
  type?: unknown
  data?: { reference?: unknown; lead_reference?: unknown; name?: unknown; status?: unknown } | null
}

/** Returns the type of an event and the main facts about its lead. A body without a type is Lead Created. */
const listSubject = (json: unknown): string[] => {
  const { type = 'lead.created', data } = (json ?? {}) as Body
  if (!data) return []
  const reference = data.lead_reference ?? data.reference
  return [type, reference && `lead ${reference}`, data.name, data.status].filter(Boolean).map(String)
}
