/** A fetch `Headers`, `request.headers`, `[name, value]` pairs, or `request.rawHeaders`, in any case of letters. */
export type HeadersLike =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined }
  | ReadonlyArray<readonly [name: string, value: string]>
  | readonly string[]

type Pair = readonly [string, string | readonly string[] | undefined]

const pairsOf = (headers: object): readonly Pair[] => {
  if (!Array.isArray(headers)) return Object.entries(headers)
  if (typeof headers[0] !== 'string') return headers
  return headers.flatMap((name, index): Pair[] => (index % 2 === 0 ? [[name, headers[index + 1]]] : []))
}

/**
 * The value of a header, by its name in lower case. Several of one name are joined with `, ` (RFC 9110, 5.3), as Node
 * and fetch do: none of the headers read here may come twice, and none verifies when it does.
 */
export const headerOf = (headers: HeadersLike, name: string): string | undefined => {
  // Not instanceof: undici, polyfills and other realms bring Headers of their own.
  if ('get' in headers && typeof headers.get === 'function') return headers.get(name) ?? undefined
  const values = pairsOf(headers)
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value ?? [])
  return values.length === 0 ? undefined : values.join(', ')
}
