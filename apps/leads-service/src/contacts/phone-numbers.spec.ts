import {
  getCountries,
  getCountryCallingCode,
  getExampleNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js'
import examples from 'libphonenumber-js/mobile/examples'
import { phoneKeys, phoneNumbers } from './phone-numbers'

const linksOf = (field: string) => phoneNumbers(field).map(({ link }) => link.replace('tel:', ''))

test.each(getCountries())('a number of %s is what it is with all that is known of countries', (country) => {
  const national = getExampleNumber(country, examples)!.nationalNumber
  const code = getCountryCallingCode(country)
  const spellings = [
    `+${code}${national}`,
    `00${code} ${national}`,
    `+${code} ${national.slice(0, 3)}-${national.slice(3)} ext. 12`,
  ]
  expect(spellings.map((spelling) => phoneNumbers(spelling).map(({ link }) => link))).toEqual(
    spellings.map((spelling) => [parsePhoneNumberFromString(spelling, 'GB')!.getURI()]),
  )
})

const ONE = '+442079460958'
const TWO = '+447700900555'

test.each<[field: string, ...links: string[]]>([
  ['020 7946 0958', ONE],
  ['(020) 7946-0958', ONE],
  ['020/7946/0958', ONE],
  ['020.7946.0958', ONE],
  ['+44 (0)20 7946 0958', ONE],
  ['+44 020 7946 0958', ONE],
  ['0044 20 7946 0958', ONE],
  ['44 20 7946 0958', ONE],
  ['2079460958', ONE],
  ['tel:+44-20-7946-0958', ONE],
  ['+44\u00a020\u20117946\u20110958', ONE],
  ['+44 1481 960123', '+441481960123'],
  ['01204 12345', '+44120412345'],
  ['0800 1111', '+448001111'],
  ['+1 212 555 0123', '+12125550123'],
  // Several.
  ['07700 900555 / 020 7946 0958', TWO, ONE],
  ['07700900555/02079460958', TWO, ONE],
  ['07700 900555 or 020 7946 0958', TWO, ONE],
  ['07700 900555, 020 7946 0958', TWO, ONE],
  ['07700 900555;02079460958', TWO, ONE],
  ['447700900555,442079460958', TWO, ONE],
  ['+447700900555+442079460958', TWO, ONE],
  ['07700 900555 020 7946 0958', TWO, ONE],
  ['020 7946 0958 07700900555', ONE, TWO],
  ['07700900555 020 7946 0958 07700 900555', TWO, ONE, TWO],
  ['+44 7700 900555 / +1 212 555 0123', TWO, '+12125550123'],
  ['+41 79 123 45 67 / 68', '+41791234567'],
  // Other text.
  ['Office: 020 7946 0958 (ask for Jo)', ONE],
  ['(H) 020 7946 0958 (M) 07700 900555', ONE, TWO],
  ['Flat 2, 020 7946 0958', ONE],
  ['SW11 02079460958', ONE],
  ['24/7 020 7946 0958', ONE],
  ['020 7946 0958 after 6pm', ONE],
  ['020 7946 0958 9am-5pm', ONE],
  ['12/03/2026 02079460958', ONE],
  // Extensions.
  ['020 7946 0958 ext 12', `${ONE};ext=12`],
  ['020 7946 0958 x12 / 07700 900555', `${ONE};ext=12`, TWO],
  ['020 7946 0958, 12', `${ONE};ext=12`],
  ['tel:+44-20-7946-0958;ext=12', `${ONE};ext=12`],
  // Spreadsheets.
  ['447700900555.0', TWO],
  ['7700900555.00', TWO],
  ['4.47700900555E+11', TWO],
  ['="07700900555"', TWO],
  ['207946095.0', '+44207946095'],
  // Other digits.
  ['０２０７９４６０９５８', ONE],
  ['٠٢٠٧٩٤٦٠٩٥٨', ONE],
  ['۰۲۰۷۹۴۶۰۹۵۸', ONE],
  ['०२० ७९४६ ०९५८', ONE],
  // What can not be seen.
  ...['\ufeff', '\u200b', '\u200d', '\u2060', '\ufe0f', '\u3164'].map((unseen): [string, string] => [
    `0${unseen}20 7946${unseen}0958${unseen}`,
    ONE,
  ]),
  // None.
  ['999', '999'],
  ['118 500', '118500'],
  ['+44 999', '44999'],
  ['960123', '960123'],
  ['7946 0958', '79460958'],
  ['946 0958', '9460958'],
  ['0770090055512', '0770090055512'],
  ['00000000000', '00000000000'],
  ['4.47701E+11', '44770111'],
  ['4.4770090055E+11', '4477009005511'],
  ['no. १', '1'],
])('%j is %s %s %s', (field, ...links) => {
  expect(linksOf(field)).toEqual(links)
})

test.each([
  ['020 7946 0958 ext 12', [ONE]],
  ['07700 900555 / 020 7946 0958', [TWO, ONE]],
  ['999', ['999']],
  ['٩٩٩', ['999']],
])('the keys of %j are %j, also when its link is known', (field, keys) => {
  const numbers = phoneNumbers(field)
  expect(numbers.map(({ key }) => key)).toEqual(keys)
  expect(phoneKeys(field, numbers[0].link)).toEqual(keys)
})
