import type { IncomingHttpHeaders } from 'node:http'
import { verify, verifyStandard } from '@leadwire/webhook-receiver'
import { printable } from '../output'

/** A request as the listener got it. */
export interface Arrival {
  at: Date
  headers: IncomingHttpHeaders
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
  { at, headers, body }: Arrival,
  { secret, seen }: { secret: string; seen: Set<string> },
): Verification => {
  const service = verify(body, headers, secret)
  const standard = verifyStandard(body, headers, secret, { now: at })
  const errors = [
    ...(service.ok ? [] : [`X-SERVICE-Signature: ${service.code}`]),
    ...(standard.ok ? [] : [`webhook-signature: ${standard.code}`]),
  ]
  const again = standard.ok && seen.has(standard.id)
  if (standard.ok) seen.add(standard.id)
  return { verified: errors.length === 0, again, errors }
}

/** The lines an arrival is printed as; `outcome` says what was answered and why. */
export const describe = (
  arrival: Arrival,
  { verified, again, errors }: Verification,
  outcome: string,
): string => {
  const verdict = verified ? `yes${again ? ' (seen before)' : ''}` : `no (${errors.join(', ')})`
  const { reference, name, status } = leadIn(arrival.body)
  const headers = pairs(arrival.rawHeaders).filter(([header]) => !TRANSPORT.has(header.toLowerCase()))
  return [
    `${arrival.at.toISOString()}  lead ${reference}  ${name}  ${status}  verified: ${verdict}`,
    ...headers.map(([header, value]) => `  ${header}: ${value}`),
    `  ${outcome}`,
  ]
    .map(printable)
    .join('\n')
}

const TRANSPORT = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive'])

/** A flat list of headers without those that belong to one connection (RFC 9110, 7.6.1), Host and length among them. */
export const endToEnd = (rawHeaders: string[]): string[] =>
  pairs(rawHeaders)
    .filter(([name]) => !TRANSPORT.has(name.toLowerCase()))
    .flat()

const pairs = (flat: string[]): [string, string][] =>
  flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? '']] : []))

const leadIn = (body: Buffer): Record<'reference' | 'name' | 'status', string> => {
  const data = dataIn(body)
  const field = (name: string) => (typeof data[name] === 'string' ? data[name] : '-')
  return { reference: field('reference'), name: field('name'), status: field('status') }
}

const dataIn = (body: Buffer): Record<string, unknown> => {
  try {
    return JSON.parse(body.toString()).data ?? {}
  } catch {
    return {}
  }
}
