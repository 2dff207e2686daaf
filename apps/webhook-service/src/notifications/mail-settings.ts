import { fileURLToPath } from 'node:url'
import { isEmail } from '@leadwire/contracts'
import { makeValidator, whenValid } from '@leadwire/service-kit/runtime'
import addressparser from 'nodemailer/lib/addressparser'

export interface MailServer {
  host: string
  port: number
  /** Whether the connection uses TLS from its first byte. */
  secure: boolean
  auth: { user: string; pass: string } | undefined
}

/** The destination of messages: a mail server, or a folder in which each message becomes a file. */
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

/** Reads SMTP_URL. The error does not repeat the URL, because the URL may contain a password. */
export const mailTarget = makeValidator<MailTarget>((text) => {
  const target = whenValid(() => parseTarget(text))
  if (target) return target
  throw new TypeError('must be an smtp://[user:password@]host[:port], smtps:// or file:/// URL')
})

export interface Sender {
  name: string
  address: string
}

/**
 * Reads SMTP_FROM: an e-mail address, or a name and an e-mail address such as `Leadwire <leads@example.com>`.
 */
export const mailSender = makeValidator<Sender>((text) => {
  const [sender, ...others] = addressparser(text, { flatten: true })
  if (!sender || others.length > 0 || !isEmail(sender.address))
    throw new TypeError(`"${text}" is not an address such as Leadwire <leads@example.com>`)
  return { name: sender.name, address: sender.address }
})
