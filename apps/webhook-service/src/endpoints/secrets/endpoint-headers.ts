import type { EndpointHeader } from '@leadwire/contracts'
import type { Sealer, Transaction } from '@leadwire/service-kit'
import { isHeaderValue, validate } from '../../arguments'
import { lockSecrets, saveSecrets } from './store-secrets'

const MAX_HEADERS = 10
const MAX_NAME = 100
const MAX_VALUE = 2048

/** RFC 9110, 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

// Headers that each attempt sets (interface: Delivery), that describe its body, or that concern its connection (RFC 9110, 7.6.1).
const RESERVED = new Set(
  (
    'content-type content-length content-encoding host user-agent traceparent tracestate connection keep-alive ' +
    'proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade expect'
  ).split(' '),
)
const isReserved = (name: string) => RESERVED.has(name) || /^(webhook|x-service)-/.test(name)

const violationOf = ({ name, value }: EndpointHeader): string | undefined => {
  if (name.length > MAX_NAME || !TOKEN.test(name)) return 'is not the name of a header.'
  if (isReserved(name.toLowerCase())) return 'can not be set.'
  if (value === undefined) return undefined
  if (value.length > MAX_VALUE) return `may not be greater than ${MAX_VALUE} characters.`
  return isHeaderValue(value)
    ? undefined
    : 'must have visible ASCII characters, with spaces only between them.'
}

export const headerViolations = (headers: EndpointHeader[]): Record<string, string> => {
  if (headers.length > MAX_HEADERS)
    return { headers: `The headers may not have more than ${MAX_HEADERS} items.` }
  const violations: Record<string, string> = {}
  const known = new Set<string>()
  for (const header of headers) {
    const name = header.name.toLowerCase()
    const violation = known.has(name) ? 'is there twice.' : violationOf(header)
    const shown = header.name.slice(0, MAX_NAME)
    if (violation) violations[`headers.${shown}`] = `The header ${shown} ${violation}`
    known.add(name)
  }
  return violations
}

/** The values of headers by name. A header without a value keeps its value among `known`, in any case; else it is missing. */
export const headerValues = (headers: EndpointHeader[], known: Record<string, string> = {}) => {
  const kept = new Map(Object.entries(known).map(([name, value]) => [name.toLowerCase(), value]))
  const values: Record<string, string> = {}
  const missing: Record<string, string> = {}
  for (const { name, value = kept.get(name.toLowerCase()) } of headers)
    if (value === undefined) missing[`headers.${name}`] = `The header ${name} must have a value.`
    else values[name] = value
  return { values, missing }
}

/** Replaces the headers of an endpoint. Resolves to their names. Throws not_found, and invalid for a header without a value. */
export const replaceHeaders = async (
  tx: Transaction,
  sealer: Sealer,
  { headers, ...key }: { accountId: number; endpointId: number; headers: EndpointHeader[] },
): Promise<string[]> => {
  const current = await lockSecrets(tx, sealer, key)
  const { values, missing } = headerValues(headers, current.headers)
  validate(missing)
  await saveSecrets(tx, sealer, [{ ...key, secrets: { ...current, headers: values } }])
  return Object.keys(values)
}
