import type { EndpointHeader } from '@leadwire/contracts'
import { type FieldErrors, type Sealer, ServiceError, type Transaction } from '@leadwire/service-kit'
import { lockSecrets, saveSecrets } from './store-secrets'

/**
 * Returns the values of headers by name. A header without a value gets its value from `known`, whose names
 * may differ in case. Throws `invalid` if `known` has no value for it either, or if a header is listed twice.
 */
export const mergeHeaders = (
  headers: EndpointHeader[],
  known: Record<string, string> = {},
): Record<string, string> => {
  const kept = new Map(Object.entries(known).map(([name, value]) => [name.toLowerCase(), value]))
  const names = new Set<string>()
  const values: Record<string, string> = {}
  const errors: FieldErrors = {}
  for (const { name, value = kept.get(name.toLowerCase()) } of headers) {
    if (names.has(name.toLowerCase())) errors[`headers.${name}`] = [`The header ${name} is listed twice.`]
    else if (value === undefined) errors[`headers.${name}`] = [`The header ${name} must have a value.`]
    else values[name] = value
    names.add(name.toLowerCase())
  }
  if (Object.keys(errors).length > 0) throw ServiceError.invalid(errors)
  return values
}

/** Replaces the headers of an endpoint. Resolves with their names. Throws `not_found` and `invalid`. */
export const replaceHeaders = async (
  tx: Transaction,
  sealer: Sealer,
  { headers, ...key }: { accountId: number; endpointId: number; headers: EndpointHeader[] },
): Promise<string[]> => {
  const current = await lockSecrets(tx, sealer, key)
  const values = mergeHeaders(headers, current.headers)
  await saveSecrets(tx, sealer, [{ ...key, secrets: { ...current, headers: values } }])
  return Object.keys(values)
}
