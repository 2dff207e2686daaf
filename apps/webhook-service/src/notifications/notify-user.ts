import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { NotificationRequested } from '@leadwire/contracts'
import type { Watched } from '@leadwire/service-kit'
import type { NodemailerError } from 'nodemailer'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { Clock } from '../clock'
import { isSignIn } from '../delivery/append/read-event'
import { classifyFailure, type Outcome, type Result, timeAttempt } from '../delivery/attempt/make-attempt'
import { cutText } from '../delivery/attempt/read-response'
import type { Webhook } from '../delivery/attempt/webhook-headers'
import { composeMessage, DIGEST, type DigestEntries, type Message } from './compose-message'
import type { MailServer, MailTarget, Sender } from './mail-settings'
import { quotesSecret } from './quotes-secret'

/** How long a drain waits for the response of the mail server to a message. */
const DRAIN_MS = 5000

interface MailOptions {
  target: MailTarget
  from: Sender
  timeZone: string
  timeoutMs: number
  draining: AbortSignal
  /** The certificates of the authorities that may sign the mail server's certificate. */
  authorities?: Watched<string> | undefined
  clock: Clock
  /** Returns the entries of a digest. `digestId` is the id of its event. */
  listDigestEntries: (digestId: string) => Promise<DigestEntries>
  /** Returns the sign-in link of an event, or undefined if the link was deleted. */
  readSignInLink: (eventId: string) => Promise<string | undefined>
}

/**
 * Thrown if the server has received the whole message and has not responded. The server may have accepted the
 * message.
 */
class Unconfirmed extends Error {}

const sendToServer = (
  { auth, ...address }: MailServer,
  message: Message,
  { timeoutMs, draining, authorities }: MailOptions,
): Promise<string> =>
  new Promise((resolve, reject) => {
    // Requires TLS with a verified certificate if there is a password to protect, if authorities are
    // configured, or if the URL is smtps://. Otherwise uses TLS if the server offers it, with any
    // certificate, because this is better than no TLS.
    const isVerified = auth !== undefined || authorities !== undefined
    const connection = new SMTPConnection({
      ...address,
      requireTLS: isVerified && !address.secure,
      tls: {
        rejectUnauthorized: isVerified || address.secure,
        ...(authorities && { ca: authorities.current() }),
      },
      dnsTimeout: timeoutMs,
      connectionTimeout: timeoutMs,
      greetingTimeout: timeoutMs,
      socketTimeout: timeoutMs,
      socketCloseTimeout: 0,
    })
    const content = Readable.from([message.content])
    const finish = () => {
      for (const timer of timers) clearTimeout(timer)
      draining.removeEventListener('abort', onDrain)
    }
    const fail = (error: NodemailerError) => {
      finish()
      connection.close()
      const isUnconfirmed = content.readableEnded && error.responseCode === undefined
      if (isUnconfirmed) reject(new Unconfirmed('The mail server did not respond.', { cause: error }))
      else reject(error)
    }
    const timeOut = () => fail(Object.assign(new Error('The mail server timed out.'), { code: 'ETIMEDOUT' }))
    const timers = [setTimeout(timeOut, timeoutMs)]
    // After the drain another process may claim the delivery, so the server must not receive the rest of the
    // message.
    const endDrain = () => {
      if (content.readableEnded) timeOut()
      else connection.close()
    }
    const onDrain = () => timers.push(setTimeout(endDrain, DRAIN_MS))
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
      if (error) return fail(error)
      if (!auth) return send()
      connection.login(auth, (refused) => {
        if (refused) fail(refused)
        else send()
      })
    })
  })

/**
 * Writes a message to an .eml file that is named after its event. The file appears only when it is complete.
 */
const writeToFolder = async (folder: string, { eventId, content }: Message): Promise<string> => {
  const name = `${eventId}.eml`
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, `.${name}`), content)
  await rename(join(folder, `.${name}`), join(folder, name))
  return `250 written to ${name}`
}

/**
 * Creates the function that deletes the .eml files of events. Messages that a mail server has accepted stay.
 */
export const deleteMessagesFrom =
  (target: MailTarget) =>
  async (eventIds: string[]): Promise<void> => {
    if (!('folder' in target)) return
    // A full disk or a crash may have left an incomplete file, whose name starts with a dot.
    const names = eventIds.flatMap((id) => [`${id}.eml`, `.${id}.eml`])
    await Promise.all(names.map((name) => rm(join(target.folder, name), { force: true })))
  }

const NO_RESPONSE = { status: null, response: null }

/**
 * A refusal that does not concern a single message. `for now`: the server temporarily refuses all messages.
 * `account`: the server refuses the connection or the account.
 */
export type Refusal = 'for now' | 'account'

interface MailResult extends Result {
  refusal?: Refusal | undefined
}

export type MailOutcome = MailResult & Outcome

/**
 * Matches the replies that are about the account of the sender: login (530), policy and permission (5.7.x), a
 * sending quota (5.4.5), and a mailbox (5.2.x), because this may be the mailbox of the sender.
 */
const ACCOUNT_REPLY = /^(530|5\d\d[ -]#?5\.(7\.\d+|4\.5|2\.\d+))\b/

/**
 * Classifies a refusal. Returns undefined if the server refused the message or its recipient, or did not
 * respond.
 */
const classifyRefusal = (error: NodemailerError): Refusal | undefined => {
  const { code, command, responseCode, response = '', permanent } = error
  if (responseCode === undefined) return code === 'EAUTH' ? 'account' : undefined
  const isDeferred = responseCode >= 400 && responseCode < 500
  if (responseCode === 421 || (isDeferred && command !== 'DATA')) return 'for now'
  if (!permanent) return undefined
  const isOfTheMessage = code === 'EMESSAGE' || (code === 'EENVELOPE' && command !== 'MAIL FROM')
  return !isOfTheMessage || ACCOUNT_REPLY.test(response) ? 'account' : undefined
}

/**
 * Describes why a message was not sent. The failure is permanent if the server has rejected the message
 * (5xx), or may have accepted it.
 */
const describeFailure = (error: NodemailerError | Unconfirmed): MailResult => {
  if (error instanceof Unconfirmed)
    return { ...NO_RESPONSE, error: 'unconfirmed', permanent: true, cause: error.cause }
  const { code = '', originalCode, responseCode, response = '', permanent = false } = error
  // Ignores a code above 999, because nodemailer interprets any digits at the start of a response as its
  // code.
  const status = responseCode !== undefined && responseCode < 1000 ? responseCode : null
  const refusal = classifyRefusal(error)
  const received = { status, response: cutText(response), refusal }
  if (code === 'EDNS') return { ...received, error: 'dns', cause: error }
  if (code === 'ETLS') return { ...received, error: 'tls', cause: error }
  // Passes no cause to the log, because the response of the server may contain the e-mail address of the
  // recipient.
  if (responseCode !== undefined)
    return { ...received, error: 'smtp_status', permanent: permanent && refusal === undefined }
  // Without a response, this code means that nodemailer itself has rejected the e-mail address.
  if (code === 'EENVELOPE') return { ...received, error: 'unsendable', permanent: true }
  return { ...received, error: classifyFailure({ code: originalCode ?? code }) }
}

/** The parts of a message that its event does not contain. */
interface Additions {
  digest: DigestEntries | undefined
  link: string | undefined
}

const LINK_IS_GONE: MailResult = {
  ...NO_RESPONSE,
  error: 'unsendable',
  permanent: true,
  reason: 'The link is no longer stored, so it cannot be sent. Request a new link.',
}

/**
 * Removes the response and the cause if they quote the link. A mail server may quote a message that it
 * refuses, and an error of nodemailer may repeat the response of the server.
 */
const hideLink = (result: MailResult, link: string): MailResult => {
  const { response, cause } = result
  const hidden = { ...result }
  if (response !== null && quotesSecret(response, link))
    hidden.response = 'The response is not kept, because it quotes the link.'
  if (cause instanceof Error && quotesSecret(cause.message, link)) hidden.cause = undefined
  return hidden
}

const send = async (
  event: NotificationRequested,
  additions: Additions,
  options: MailOptions,
): Promise<MailResult> => {
  let message: Message
  try {
    message = await composeMessage(event, { ...options, ...additions })
  } catch (cause) {
    return { ...NO_RESPONSE, error: 'unsendable', permanent: true, cause }
  }
  try {
    const { target } = options
    const response = await ('folder' in target
      ? writeToFolder(target.folder, message)
      : sendToServer(target.server, message, options))
    // nodemailer succeeds only after a 2xx response.
    return { status: 250, response: cutText(response), error: null }
  } catch (error) {
    // A failure to write to the folder is an internal error.
    if ('folder' in options.target) return { ...NO_RESPONSE, error: 'internal', cause: error }
    return describeFailure(error as NodemailerError | Unconfirmed)
  }
}

/**
 * Makes one attempt to send a notification. Rejects only if the entries of a digest or a sign-in link cannot
 * be read. Rejects with `internal` if no key decrypts the link.
 */
export const notifyUser = async (
  { body, traceparent }: Webhook,
  options: MailOptions,
): Promise<MailOutcome> => {
  const span = { name: 'send e-mail', status: 'leadwire.smtp.status_code', clock: options.clock }
  const event = NotificationRequested.decode(body)
  const { eventId, subject } = event
  const digest = subject === DIGEST ? await options.listDigestEntries(eventId) : undefined
  const link = isSignIn(event) ? await options.readSignInLink(eventId) : undefined
  return timeAttempt(traceparent, span, async () => {
    if (isSignIn(event) && link === undefined) return LINK_IS_GONE
    const result = await send(event, { digest, link }, options)
    return link === undefined ? result : hideLink(result, link)
  })
}
