import type { EndpointHeader } from '@leadwire/contracts'
import type { Faults } from '@leadwire/service-kit'
import { isHeaderValue } from '../header-value'

const MAX_HEADERS = 10
const MAX_NAME = 100
const MAX_VALUE = 2048

/** RFC 9110, 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

// What each attempt carries itself (interface: Delivery), what describes its body, and what concerns a connection and no
// receiver (RFC 9110, 7.6.1).
const REFUSED = new Set([
  ...[
    'content-type',
    'content-length',
    'content-encoding',
    'host',
    'user-agent',
    'traceparent',
    'tracestate',
  ],
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te'],
  ...['trailer', 'transfer-encoding', 'upgrade', 'expect'],
])
const REFUSED_PREFIXES = ['webhook-', 'x-service-']

const isRefused = (name: string) =>
  REFUSED.has(name) || REFUSED_PREFIXES.some((prefix) => name.startsWith(prefix))

const faultOf = ({ name, value }: EndpointHeader): string | undefined => {
  if (name.length > MAX_NAME || !TOKEN.test(name)) return 'is not the name of a header'
  if (isRefused(name.toLowerCase())) return 'is a header that an endpoint can not have'
  if (value === undefined) return undefined
  if (value.length > MAX_VALUE) return `must not be longer than ${MAX_VALUE} characters`
  return isHeaderValue(value) ? undefined : 'must be visible ASCII characters, with spaces only between them'
}

/** What is wrong with the headers that an endpoint is to have; empty when they will do. */
export const endpointHeadersFaults = (headers: EndpointHeader[]): Faults => {
  if (headers.length > MAX_HEADERS) return { headers: [`must not be more than ${MAX_HEADERS}`] }
  const faults: Faults = {}
  const known = new Set<string>()
  for (const header of headers) {
    const name = header.name.toLowerCase()
    const fault = known.has(name) ? 'is there twice' : faultOf(header)
    if (fault) faults[`headers.${header.name.slice(0, MAX_NAME)}`] = [fault]
    known.add(name)
  }
  return faults
}

/**
 * The values of headers by name. One that is given none keeps the value it has among `known`, in whatever case its name is;
 * it is missing where there is none.
 */
export const valuesOf = (
  headers: EndpointHeader[],
  known: Record<string, string> = {},
): { values: Record<string, string>; faults: Faults } => {
  const kept = new Map(Object.entries(known).map(([name, value]) => [name.toLowerCase(), value]))
  const found = headers.map(({ name, value }) => [name, value ?? kept.get(name.toLowerCase())] as const)
  const missing = found.filter(([, value]) => value === undefined)
  return {
    values: Object.fromEntries(found.filter((each): each is [string, string] => each[1] !== undefined)),
    faults: Object.fromEntries(missing.map(([name]) => [`headers.${name}`, ['must have a value']])),
  }
}
