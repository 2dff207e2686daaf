import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Watched } from '@leadwire/service-kit'
import type { NodemailerError } from 'nodemailer'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { Message } from './compose-message'
import type { MailServer, MailTarget } from './mail-settings'

/** How long a drain waits for the server's answer to a message. */
const DRAIN_MS = 5000

/** The server has the whole message and did not say what it did with it: it may have taken it. */
export class Unconfirmed extends Error {}

/** Hands a message to a mail server over a connection of its own; the time bounds all of it. */
const sendToServer = (
  server: MailServer,
  message: Message,
  { timeoutMs, draining, authorities }: SendOptions,
): Promise<string> =>
  new Promise((resolve, reject) => {
    const { auth, ...address } = server
    // A password is never sent in the clear. Without one, TLS without a known certificate is still better than none, unless
    // it was said who vouches for the certificate.
    const isSure = auth !== undefined || authorities !== undefined
    const connection = new SMTPConnection({
      ...address,
      requireTLS: isSure && !server.secure,
      tls: { rejectUnauthorized: isSure || server.secure, ...(authorities && { ca: authorities.current() }) },
      ...{ dnsTimeout: timeoutMs, connectionTimeout: timeoutMs, greetingTimeout: timeoutMs },
      ...{ socketTimeout: timeoutMs, socketCloseTimeout: 0 },
    })
    const content = Readable.from([message.content])
    const settle = (end: () => void) => {
      for (const timer of timers) clearTimeout(timer)
      draining.removeEventListener('abort', onDrain)
      end()
    }
    const fail = (error: NodemailerError) =>
      settle(() => {
        connection.close()
        const silent = content.readableEnded && error.responseCode === undefined
        reject(silent ? new Unconfirmed('The mail server did not answer.', { cause: error }) : error)
      })
    const late = () => fail(Object.assign(new Error('The mail server took too long.'), { code: 'ETIMEDOUT' }))
    const timers = [setTimeout(late, timeoutMs)]
    // What the server does not have whole by then it must not get any more: the drain gives its claim to another process.
    const onDrain = () =>
      timers.push(setTimeout(() => (content.readableEnded ? late() : connection.close()), DRAIN_MS))
    draining.addEventListener('abort', onDrain)
    const send = () =>
      connection.send({ from: message.from, to: message.to }, content, (error, info) => {
        if (error) return fail(error)
        settle(() => {
          connection.quit()
          resolve(info.response)
        })
      })
    connection.on('error', fail)
    connection.connect((error) => {
      if (error) fail(error)
      else if (auth) connection.login(auth, (refused) => (refused ? fail(refused) : send()))
      else send()
    })
  })

/** Writes a message where it is whole or not there: an .eml file named after its event, so that there is one for each. */
const writeToFolder = async (folder: string, { eventId, content }: Message): Promise<string> => {
  const name = `${eventId}.eml`
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, `.${name}`), content)
  await rename(join(folder, `.${name}`), join(folder, name))
  return `250 written to ${name}`
}

export interface SendOptions {
  timeoutMs: number
  /** Aborted when the process is to end. */
  draining: AbortSignal
  /** Whom a mail server's certificate is checked by: it must then have one. */
  authorities?: Watched<string> | undefined
}

/**
 * Sends a message. Answers with what the server said. Rejects with nodemailer's error or ETIMEDOUT, and with Unconfirmed when
 * the server may have taken the message.
 */
export const sendMessage = (target: MailTarget, message: Message, options: SendOptions): Promise<string> =>
  'folder' in target ? writeToFolder(target.folder, message) : sendToServer(target.server, message, options)
