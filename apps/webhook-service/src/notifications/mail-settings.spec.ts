import { readConfig } from '@leadwire/service-kit'
import { mailSender, mailTarget } from './mail-settings'

const readTarget = (SMTP_URL: string) => readConfig({ SMTP_URL }, { SMTP_URL: mailTarget() }).SMTP_URL
const readSender = (SMTP_FROM: string) => readConfig({ SMTP_FROM }, { SMTP_FROM: mailSender() }).SMTP_FROM

test.each([
  ['smtp://mail.example.com', { host: 'mail.example.com', port: 587, secure: false, auth: undefined }],
  ['smtp://[::1]:25', { host: '::1', port: 25, secure: false, auth: undefined }],
  [
    'smtps://me%40example.com:p%3Aw@mail.example.com',
    { host: 'mail.example.com', port: 465, secure: true, auth: { user: 'me@example.com', pass: 'p:w' } },
  ],
])('%s is a mail server', (text, server) => {
  expect(readTarget(text)).toEqual({ server })
})

test('a file URL is a folder', () => {
  expect(readTarget('file:///var/mail%20box')).toEqual({ folder: '/var/mail box' })
})

test.each([
  'mail.example.com',
  'http://mail.example.com',
  'smtp://',
  'smtp://a/b',
  'smtp://a?x=1',
  'smtp://%zz@a',
  'smtp://user@a',
])('%s is refused, and the error does not repeat it', (text) => {
  expect(() => readTarget(text)).toThrow(/^SMTP_URL: must be an smtp:/)
})

test.each([
  ['leads@example.com', { name: '', address: 'leads@example.com' }],
  ['"Bay, Sons" <leads@example.com>', { name: 'Bay, Sons', address: 'leads@example.com' }],
])('%s is a sender', (text, sender) => {
  expect(readSender(text)).toEqual(sender)
})

test.each(['nobody', 'a@example.com, b@example.com', 'Leadwire <>'])('%s is not a sender', (text) => {
  expect(() => readSender(text)).toThrow(/^SMTP_FROM: .* is not an address/)
})
