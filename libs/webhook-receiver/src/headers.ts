/**
 * A fetch `Headers`, `request.headers`, `[name, value]` pairs or `request.rawHeaders`. Names may have any
 * case.
 */
export type HeadersLike =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined }
  | ReadonlyArray<readonly [name: string, value: string]>
  | readonly string[]

type Pair = readonly [string, string | readonly string[] | undefined]

const listPairs = (headers: object): readonly Pair[] => {
  if (!Array.isArray(headers)) return Object.entries(headers)
  if (typeof headers[0] !== 'string') return headers
  return headers.flatMap((name, index): Pair[] => (index % 2 === 0 ? [[name, headers[index + 1]]] : []))
}

/**
 * Returns the value of a header by its name in lower case. Joins repeated headers with `, ` (RFC 9110, 5.3),
 * as Node and fetch do. No header of a webhook may be repeated, so a joined value never verifies.
 */
export const readHeader = (headers: HeadersLike, name: string): string | undefined => {
  // Does not use instanceof, because undici, polyfills and other realms have their own Headers classes.
  if ('get' in headers && typeof headers.get === 'function') return headers.get(name) ?? undefined
  const values = listPairs(headers)
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value ?? [])
  return values.length === 0 ? undefined : values.join(', ')
}
