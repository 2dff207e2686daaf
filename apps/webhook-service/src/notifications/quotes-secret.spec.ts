import { quotesSecret } from './quotes-secret'

const LINK = 'https://console.example.com/#sign-in=lw_live_YqJ3v0nPZt8RkMx5cWb2LdHs7fGa1UeQo4Ti6KyNB9w'

test.each([
  [LINK, true],
  ['Refused: lw_live_YqJ3v0nPZt8RkMx5=\r\ncWb2LdHs7fGa1UeQo4Ti6KyNB9w', true],
  ['refused: ky nb9w, 7FGA1UEQO4TI', true],
  ['Refused: the host console.example.com is listed', false],
  ['', false],
])('that the text %j quotes the secret is %j', (text, isQuoted) => {
  expect(quotesSecret(text, LINK)).toBe(isQuoted)
})
