import { bearerOf, type Tls } from '@leadwire/service-kit'
import { Agent, request } from 'undici'

/** Where the copies of files-service are, and what is shown to them. */
export interface FilesService {
  urls: URL[]
  tokens: readonly string[]
  /** With it the URLs are https, and both ends show a certificate. */
  tls?: Tls | undefined
}

/** Makes the function that sends a request without a body to a copy of files-service. It rejects when no answer comes. */
export const createSend = ({ tokens, tls }: FilesService) => {
  const authorization = bearerOf(tokens)
  const headers = authorization === undefined ? {} : { authorization }
  const open = () => new Agent({ connect: { ...tls?.current() } })
  let dispatcher = open()
  tls?.onChange(() => {
    // It ends when the calls in flight on it do.
    void dispatcher.close()
    dispatcher = open()
  })
  return (url: URL, options: { method: 'GET' | 'DELETE'; signal: AbortSignal }) =>
    request(url, { ...options, headers, dispatcher })
}
