import {
  getCountries,
  getCountryCallingCode,
  getExampleNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js'
import examples from 'libphonenumber-js/mobile/examples'
import { phoneLink } from './phone-link'

test.each(getCountries())('a number of %s is what it is with all that is known of countries', (country) => {
  const national = getExampleNumber(country, examples)!.nationalNumber
  const code = getCountryCallingCode(country)
  const spellings = [
    `+${code}${national}`,
    `00${code} ${national}`,
    `+${code} (0) ${national.slice(0, 3)}-${national.slice(3)} ext. 12`,
    `0${national}`,
    national,
  ]
  expect(spellings.map(phoneLink)).toEqual(
    spellings.map((spelling) => parsePhoneNumberFromString(spelling, 'GB')!.getURI()),
  )
})

test.each([
  ['01632 960123', 'tel:+441632960123'],
  ['020 7946 0000', 'tel:+442079460000'],
  ['+44 1481 960123', 'tel:+441481960123'],
  ['no. 1', 'tel:1'],
])('%s is %s', (number, link) => {
  expect(phoneLink(number)).toBe(link)
})
