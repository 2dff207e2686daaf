import type { AddressInfo } from 'node:net'
import { type ParsedMail, simpleParser } from 'mailparser'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

export interface ReceivedMail extends ParsedMail {
  envelope: { from: string; to: string[] }
}

/** A real mail server that keeps what it takes. `settings` may refuse or delay any step of the protocol. */
export const startMailServer = async (settings: SMTPServerOptions = {}) => {
  const mails: ReceivedMail[] = []
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData: (stream, { envelope }, done) => {
      simpleParser(stream).then((mail) => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : ''
        mails.push({ ...mail, envelope: { from, to: envelope.rcptTo.map(({ address }) => address) } })
        done()
      }, done)
    },
    ...settings,
  })
  // A client that breaks off is its own affair.
  server.on('error', () => undefined)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.server.address() as AddressInfo
  return {
    mails,
    target: { server: { host: '127.0.0.1', port, secure: false, auth: undefined } },
    stop: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}

export type MailServer = Awaited<ReturnType<typeof startMailServer>>

/** What a mail server answers with. */
export const reply = (responseCode: number, message: string): Error =>
  Object.assign(new Error(message), { responseCode })
