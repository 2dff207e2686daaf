import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import SMTPConnection from 'nodemailer/lib/smtp-connection'
import type { MailServer, MailTarget } from './mail-settings'

export interface Message {
  eventId: string
  from: string
  to: string
  /** With its headers. */
  content: Buffer
}

/** Hands a message to a mail server over a connection of its own; the time bounds all of it. */
const sendToServer = (server: MailServer, message: Message, timeoutMs: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const { auth, ...address } = server
    const connection = new SMTPConnection({
      ...address,
      // A password is never sent in the clear.
      requireTLS: auth !== undefined && !server.secure,
      ...{ dnsTimeout: timeoutMs, connectionTimeout: timeoutMs, greetingTimeout: timeoutMs },
      ...{ socketTimeout: timeoutMs, socketCloseTimeout: 0 },
    })
    const fail = (error: unknown) => {
      clearTimeout(timer)
      connection.close()
      reject(error)
    }
    const timer = setTimeout(
      () => fail(Object.assign(new Error('The mail server took too long.'), { code: 'ETIMEDOUT' })),
      timeoutMs,
    )
    const send = () =>
      connection.send({ from: message.from, to: message.to }, message.content, (error, info) => {
        if (error) return fail(error)
        clearTimeout(timer)
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

/** Writes a message where it is whole or not there: an .eml file named after its event, so that there is one for each. */
const writeToFolder = async (folder: string, { eventId, content }: Message): Promise<string> => {
  const name = `${eventId}.eml`
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await writeFile(join(folder, `.${name}`), content)
  await rename(join(folder, `.${name}`), join(folder, name))
  return `250 written to ${name}`
}

/** Sends a message. Answers with what the server said; rejects with nodemailer's error, or ETIMEDOUT after `timeoutMs`. */
export const sendMessage = (target: MailTarget, message: Message, timeoutMs: number): Promise<string> =>
  'folder' in target ? writeToFolder(target.folder, message) : sendToServer(target.server, message, timeoutMs)
