/** Where a URL leads, as an HTTP client wants it. */
export interface PostTarget {
  origin: string
  path: string
}

const KNOWN_AT_MOST = 10_000
const known = new Map<string, PostTarget>()

/** The target of a URL; each is parsed once, not for every attempt. Throws when it is no URL. */
export const postTarget = (text: string): PostTarget => {
  let target = known.get(text)
  if (!target) {
    const { origin, pathname, search } = new URL(text)
    target = { origin, path: pathname + search }
    if (known.size >= KNOWN_AT_MOST) known.clear()
    known.set(text, target)
  }
  return target
}
