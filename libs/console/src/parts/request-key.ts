import { useRef } from 'preact/hooks'

const createKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-')

/**
 * Returns a function that returns the idempotency key for a request with a body. The same body has the same
 * key until `renew` is called, so that sending a form again after a lost response creates nothing twice.
 */
export const useRequestKey = () => {
  const latest = useRef<{ body: string; key: string }>()
  const findKey = (body: object): string => {
    const text = JSON.stringify(body)
    if (latest.current?.body !== text) latest.current = { body: text, key: createKey() }
    return latest.current.key
  }
  const renew = () => {
    latest.current = undefined
  }
  return Object.assign(findKey, { renew })
}
