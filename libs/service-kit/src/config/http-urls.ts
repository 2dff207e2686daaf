import { makeValidator } from './config'
import { hasTls } from './tls-settings'

const isOrigin = (text: string, protocol: string): boolean => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url?.protocol === protocol && url.href === `${url.origin}/`
}

/** The addresses of a service's copies over HTTP, separated by commas: https with the settings of TLS, else http. */
export const httpUrls = (env: NodeJS.ProcessEnv) =>
  makeValidator<URL[]>((text) => {
    const [protocol, why] = hasTls(env) ? ['https:', ', as the settings TLS_* are there'] : ['http:', '']
    const urls = text.split(',').map((url) => url.trim())
    const wrong = urls.filter((url) => !isOrigin(url, protocol))
    if (wrong.length > 0)
      throw new TypeError(`no address such as ${protocol}//files-service:4000${why}: ${wrong.join(', ')}`)
    return urls.map((url) => new URL(url))
  })()
