/**
 * The headers of a request, in any of the forms Node's servers and frameworks hand them out: a fetch `Headers`, an
 * object such as `request.headers`, `[name, value]` pairs, or the flat list of `request.rawHeaders`. The case of names
 * does not matter.
 */
export type HeadersLike =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined }
  | ReadonlyArray<readonly [name: string, value: string]>
  | readonly string[]

/**
 * The value of a header; undefined when it is not there. Several of one name are joined with `, ` (RFC 9110, 5.3), as
 * Node and fetch do: none of the headers read here may come twice, and none verifies when it does.
 * @param name in lower case
 */
export const headerOf = (headers: HeadersLike, name: string): string | undefined => {
  if (isFetchHeaders(headers)) return headers.get(name) ?? undefined
  const values = pairsOf(headers)
    .filter(([key]) => key.toLowerCase() === name)
    .flatMap(([, value]) => value ?? [])
  return values.length === 0 ? undefined : values.join(', ')
}

type Pair = readonly [string, string | readonly string[] | undefined]
type Plain = Exclude<HeadersLike, { get(name: string): string | null }>

// Not instanceof: undici, polyfills and other realms bring Headers of their own.
const isFetchHeaders = (headers: HeadersLike): headers is { get(name: string): string | null } =>
  typeof (headers as { get?: unknown }).get === 'function'

const pairsOf = (headers: Plain): readonly Pair[] => {
  if (!Array.isArray(headers)) return Object.entries(headers as Record<string, string | string[] | undefined>)
  if (typeof headers[0] !== 'string') return headers as ReadonlyArray<readonly [string, string]>
  const flat = headers as readonly string[]
  return flat.flatMap((name, index): Pair[] => (index % 2 === 0 ? [[name, flat[index + 1]]] : []))
}
