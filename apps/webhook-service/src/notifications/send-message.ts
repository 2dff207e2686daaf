import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Watched } from '@leadwire/service-kit'
import type { NodemailerError } from 'nodemailer'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { Message } from './compose-message'
import type { MailServer, MailTarget } from './mail-settings'

/** How long a drain waits for the server's answer to a message. */
const DRAIN_MS = 5000

/** The server has the whole message and did not answer: it may have accepted it. */
export class Unconfirmed extends Error {}

/** Sends a message to a mail server over a new connection, all within `timeoutMs`. */
const sendToServer = (
  server: MailServer,
  message: Message,
  { timeoutMs, draining, authorities }: SendOptions,
): Promise<string> =>
  new Promise((resolve, reject) => {
    const { auth, ...address } = server
    // A password is never sent in the clear. Without one, TLS with an unknown certificate is better than none, unless the
    // settings name authorities.
    const isVerified = auth !== undefined || authorities !== undefined
    const connection = new SMTPConnection({
      ...address,
      requireTLS: isVerified && !server.secure,
      tls: {
        rejectUnauthorized: isVerified || server.secure,
        ...(authorities && { ca: authorities.current() }),
      },
      ...{ dnsTimeout: timeoutMs, connectionTimeout: timeoutMs, greetingTimeout: timeoutMs },
      ...{ socketTimeout: timeoutMs, socketCloseTimeout: 0 },
    })
    const content = Readable.from([message.content])
    const finish = (end: () => void) => {
      for (const timer of timers) clearTimeout(timer)
      draining.removeEventListener('abort', onDrain)
      end()
    }
    const fail = (error: NodemailerError) =>
      finish(() => {
        connection.close()
        const silent = content.readableEnded && error.responseCode === undefined
        reject(silent ? new Unconfirmed('The mail server did not answer.', { cause: error }) : error)
      })
    const timeOut = () =>
      fail(Object.assign(new Error('The mail server took too long.'), { code: 'ETIMEDOUT' }))
    const timers = [setTimeout(timeOut, timeoutMs)]
    // After the drain another process may claim the delivery, so the server must not get the rest of the message.
    const onDrain = () =>
      timers.push(setTimeout(() => (content.readableEnded ? timeOut() : connection.close()), DRAIN_MS))
    draining.addEventListener('abort', onDrain)
    const send = () =>
      connection.send({ from: message.from, to: message.to }, content, (error, info) => {
        if (error) return fail(error)
        finish(() => {
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

/** Writes a message as an .eml file named after its event, whole or not at all. */
const writeToFolder = async (folder: string, { eventId, content }: Message): Promise<string> => {
  const name = `${eventId}.eml`
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, `.${name}`), content)
  await rename(join(folder, `.${name}`), join(folder, name))
  return `250 written to ${name}`
}

export interface SendOptions {
  timeoutMs: number
  /** Aborted when a drain starts. */
  draining: AbortSignal
  /** The authorities that must have signed the mail server's certificate. */
  authorities?: Watched<string> | undefined
}

/**
 * Sends a message. Resolves to the server's answer. Rejects with nodemailer's error or ETIMEDOUT, and with Unconfirmed when
 * the server may have accepted the message.
 */
export const sendMessage = (target: MailTarget, message: Message, options: SendOptions): Promise<string> =>
  'folder' in target ? writeToFolder(target.folder, message) : sendToServer(target.server, message, options)

/** Makes the function that deletes messages from the folder. What a mail server accepted can't be deleted. */
export const deleteMessagesFrom =
  (target: MailTarget) =>
  async (eventIds: string[]): Promise<void> => {
    if (!('folder' in target)) return
    await Promise.all(eventIds.map((id) => rm(join(target.folder, `${id}.eml`), { force: true })))
  }
