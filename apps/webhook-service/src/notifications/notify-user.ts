import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { NotificationRequested } from '@leadwire/contracts'
import type { Watched } from '@leadwire/service-kit'
import type { NodemailerError } from 'nodemailer'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import { failureClass, type Outcome, type Result, timeAttempt } from '../attempt/make-attempt'
import { keptText } from '../attempt/post'
import type { Webhook } from '../attempt/webhook-headers'
import type { Clock } from '../clock'
import { composeMessage, type Message } from './compose-message'
import type { MailServer, MailTarget, Sender } from './mail-settings'

/** How long a drain waits for the server's answer to a message. */
const DRAIN_MS = 5000

interface MailOptions {
  target: MailTarget
  from: Sender
  timeZone: string
  timeoutMs: number
  draining: AbortSignal
  /** The authorities that must have signed the mail server's certificate. */
  authorities?: Watched<string> | undefined
  clock: Clock
}

/** The server has the whole message and did not answer: it may have accepted it. */
class Unconfirmed extends Error {}

const sendToServer = (
  { auth, ...address }: MailServer,
  message: Message,
  { timeoutMs, draining, authorities }: MailOptions,
): Promise<string> =>
  new Promise((resolve, reject) => {
    // A password is never sent in the clear. Without one, and without authorities, TLS with an unknown certificate beats none.
    const isVerified = auth !== undefined || authorities !== undefined
    const connection = new SMTPConnection({
      ...address,
      requireTLS: isVerified && !address.secure,
      tls: {
        rejectUnauthorized: isVerified || address.secure,
        ...(authorities && { ca: authorities.current() }),
      },
      ...{ dnsTimeout: timeoutMs, connectionTimeout: timeoutMs, greetingTimeout: timeoutMs },
      ...{ socketTimeout: timeoutMs, socketCloseTimeout: 0 },
    })
    const content = Readable.from([message.content])
    const finish = () => {
      for (const timer of timers) clearTimeout(timer)
      draining.removeEventListener('abort', onDrain)
    }
    const fail = (error: NodemailerError) => {
      finish()
      connection.close()
      const silent = content.readableEnded && error.responseCode === undefined
      reject(silent ? new Unconfirmed('The mail server did not answer.', { cause: error }) : error)
    }
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
        finish()
        connection.quit()
        resolve(info.response)
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

/** Makes the function that deletes messages from the folder. What a mail server accepted can't be deleted. */
export const deleteMessagesFrom =
  (target: MailTarget) =>
  async (eventIds: string[]): Promise<void> => {
    if (!('folder' in target)) return
    // A full disk, or a kill, leaves the beginning of a message.
    const names = eventIds.flatMap((id) => [`${id}.eml`, `.${id}.eml`])
    await Promise.all(names.map((name) => rm(join(target.folder, name), { force: true })))
  }

const NO_ANSWER = { status: null, response: null }

/** Whether the server refused the message or its recipient, and not our connection, login or sender. */
const isOfTheMessage = ({ code, command }: NodemailerError) =>
  code === 'EMESSAGE' || (code === 'EENVELOPE' && command !== 'MAIL FROM')

/** Why a message was not sent. Permanent when the server refused it for good (5xx), or may have accepted it. */
const failureOf = (error: NodemailerError | Unconfirmed): Result => {
  if (error instanceof Unconfirmed)
    return { ...NO_ANSWER, error: 'unconfirmed', permanent: true, cause: error.cause }
  const { code = '', originalCode, responseCode, response = '', permanent = false } = error
  // nodemailer takes any digits at the start of an answer for a code.
  const status = responseCode !== undefined && responseCode < 1000 ? responseCode : null
  // No cause for the log: a server's answer may name the recipient. It is kept as the response.
  const answer = { status, response: keptText(response) }
  if (code === 'EDNS') return { ...answer, error: 'dns', cause: error }
  if (code === 'ETLS') return { ...answer, error: 'tls', cause: error }
  if (responseCode !== undefined)
    return { ...answer, error: 'smtp_status', permanent: permanent && isOfTheMessage(error) }
  // nodemailer itself refuses such an address.
  if (code === 'EENVELOPE') return { ...answer, error: 'unsendable', permanent: true }
  return { ...answer, error: failureClass({ code: originalCode ?? code }) }
}

const send = async (event: NotificationRequested, options: MailOptions): Promise<Result> => {
  let message: Message
  try {
    message = await composeMessage(event, options)
  } catch (cause) {
    return { ...NO_ANSWER, error: 'unsendable', permanent: true, cause }
  }
  try {
    const { target } = options
    const response = await ('folder' in target
      ? writeToFolder(target.folder, message)
      : sendToServer(target.server, message, options))
    // nodemailer succeeds on a 2xx alone.
    return { status: 250, response: keptText(response), error: null }
  } catch (error) {
    // The folder is ours.
    if ('folder' in options.target) return { ...NO_ANSWER, error: 'ours', cause: error }
    return failureOf(error as NodemailerError | Unconfirmed)
  }
}

export const notifyUser = ({ body, traceparent }: Webhook, options: MailOptions): Promise<Outcome> => {
  const span = { name: 'send e-mail', status: 'leadwire.smtp.status_code', clock: options.clock }
  return timeAttempt(traceparent, span, () => send(NotificationRequested.decode(body), options))
}
