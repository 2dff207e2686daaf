import { makeValidator } from '@leadwire/service-kit'

const parseEndpoint = (text: string): URL => {
  const endpoint = URL.canParse(text) ? new URL(text) : undefined
  const isBare = endpoint && `${endpoint.protocol}//${endpoint.host}/` === endpoint.href
  if (!isBare || !/^https?:$/.test(endpoint.protocol)) {
    throw new TypeError(`"${text}" is no address such as http://127.0.0.1:9000`)
  }
  return endpoint
}

/** Setting: scheme, host and port of an object store; http or https, nothing more. */
export const s3Endpoint = makeValidator<URL>(parseEndpoint)
