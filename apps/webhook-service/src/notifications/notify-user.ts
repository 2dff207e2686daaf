import { NotificationRequested } from '@leadwire/contracts'
import type { NodemailerError } from 'nodemailer'
import { failureClass } from '../attempt/failure-class'
import type { Outcome } from '../attempt/make-attempt'
import { keptText } from '../attempt/post'
import { traceAttempt } from '../attempt/trace-attempt'
import type { Webhook } from '../attempt/webhook-headers'
import type { Clock } from '../clock'
import { composeMessage, type Message } from './compose-message'
import type { MailTarget, Sender } from './mail-settings'
import { type SendOptions, sendMessage, Unconfirmed } from './send-message'

export interface MailOptions extends SendOptions {
  target: MailTarget
  from: Sender
  timeZone: string
  clock: Clock
}

type Result = Omit<Outcome, 'startedAt' | 'durationMs'>

const NO_ANSWER = { status: null, response: null }
const SPAN = { name: 'send e-mail', status: 'leadwire.smtp.status_code' }

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
    const response = await sendMessage(options.target, message, options)
    // nodemailer succeeds on a 2xx alone.
    return { status: 250, response: keptText(response), error: null }
  } catch (error) {
    // The folder is ours.
    if ('folder' in options.target) return { ...NO_ANSWER, error: 'ours', cause: error }
    return failureOf(error as NodemailerError | Unconfirmed)
  }
}

/** Makes one attempt to pass a notification to the mail server, as a span of the event's trace. Never rejects. */
export const notifyUser = ({ body, traceparent }: Webhook, options: MailOptions): Promise<Outcome> =>
  traceAttempt(traceparent, SPAN, async () => {
    const startedAt = options.clock.now()
    const result = await send(NotificationRequested.decode(body), options)
    const durationMs = Math.max(0, options.clock.now().getTime() - startedAt.getTime())
    return { startedAt, durationMs, ...result }
  })
