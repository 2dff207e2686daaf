import { fileURLToPath } from 'node:url'
import { isEmail } from '@leadwire/contracts'
import { makeValidator, whenValid } from '@leadwire/service-kit/runtime'
import addressparser from 'nodemailer/lib/addressparser'

export interface MailServer {
  host: string
  port: number
  /** TLS from the first byte. */
  secure: boolean
  auth: { user: string; pass: string } | undefined
}

/** Where messages go: to a mail server, or, as a file each, into a folder. */
export type MailTarget = { server: MailServer } | { folder: string }

const PORTS: Record<string, number> = { 'smtp:': 587, 'smtps:': 465 }

const parseTarget = (text: string): MailTarget => {
  const url = new URL(text)
  if (url.protocol === 'file:') return { folder: fileURLToPath(url) }
  const port = PORTS[url.protocol]
  const isBare = url.hostname !== '' && url.search === '' && ['', '/'].includes(url.pathname)
  const isHalf = (url.username === '') !== (url.password === '')
  if (port === undefined || !isBare || isHalf) throw new TypeError()
  const [user, pass] = [decodeURIComponent(url.username), decodeURIComponent(url.password)]
  return {
    server: {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? port : Number(url.port),
      secure: url.protocol === 'smtps:',
      auth: user === '' ? undefined : { user, pass },
    },
  }
}

/** SMTP_URL. It may hold a password: no message repeats it. */
export const mailTarget = makeValidator<MailTarget>((text) => {
  const target = whenValid(() => parseTarget(text))
  if (target) return target
  throw new TypeError('is no smtp://[user:password@]host[:port], smtps:// or file:/// URL')
})

export interface Sender {
  name: string
  address: string
}

/** SMTP_FROM: an address, or a name with one, such as `Leadwire <leads@example.com>`. */
export const mailSender = makeValidator<Sender>((text) => {
  const [sender, ...others] = addressparser(text, { flatten: true })
  if (!sender || others.length > 0 || !isEmail(sender.address))
    throw new TypeError(`"${text}" is no address such as Leadwire <leads@example.com>`)
  return { name: sender.name, address: sender.address }
})
