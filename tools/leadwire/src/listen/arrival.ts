import { verify, verifyStandard } from '@leadwire/webhook-receiver'
import { printable, printableLines } from '../output'

/** A webhook as it is sent. */
export interface Arrival {
  at: Date
  /** Name, value, name, value … */
  rawHeaders: string[]
  body: Buffer
}

/** What is wrong with either signature; empty when both verify. */
export const verifyArrival = ({ at, rawHeaders, body }: Arrival, secret: string): string[] => {
  const service = verify(body, rawHeaders, secret)
  const standard = verifyStandard(body, rawHeaders, secret, { now: at })
  return [
    ...(service.ok ? [] : [`X-SERVICE-Signature: ${service.code}`]),
    ...(standard.ok ? [] : [`webhook-signature: ${standard.code}`]),
  ]
}

/** The lines an arrival is printed as. `outcome` says what became of it, where it was passed on. */
export const describe = (
  { at, rawHeaders, body }: Arrival,
  errors: string[],
  outcome: string | undefined,
): string => {
  const verdict = errors.length === 0 ? 'yes' : `no (${errors.join(', ')})`
  const json: unknown = JSON.parse(body.toString())
  const head = [
    [at.toISOString(), ...subjectOf(json), `verified: ${verdict}`].join('  '),
    ...pairs(rawHeaders).map(([header, value]) => `  ${header}: ${value}`),
    ...(outcome === undefined ? [] : [`  ${outcome}`]),
  ]
  return [...head.map(printable), printableLines(JSON.stringify(json, null, 2)).replace(/^/gm, '  ')].join(
    '\n',
  )
}

const pairs = (flat: string[]): [string, string][] =>
  flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : []))

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
