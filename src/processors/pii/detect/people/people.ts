import { findPersonNames } from "./person-names.js";
import { findPostalAddresses } from "./postal-addresses.js";
import type { TextPlace, Tokens } from "./tokens.js";

/**
 * Finds matches of one kind in a text, in order and without overlaps. `hints` are bits derived from the key of the
 * field.
 */
export type FindPeople = (tokens: Tokens, hints: number) => readonly TextPlace[];

/** Detectors that run only when the config enables them, in the order of `OPTIONAL_DETECTORS`. */
export const PEOPLE_DETECTORS: readonly FindPeople[] = [
  (tokens, hints) => inOrder([...findPersonNames(tokens, hints), ...findAsianNames(tokens.text)]),
  (tokens, hints) => inOrder([...findPostalAddresses(tokens, hints), ...findAsianAddresses(tokens.text)]),
];

function inOrder(places: TextPlace[]): readonly TextPlace[] {
  let last = 0;
  return places
    .sort(([a], [b]) => a - b)
    .filter(([start, end]) => {
      if (start < last || end <= start) return false;
      last = end;
      return true;
    });
}

/**
 * Finds names and addresses in scripts without spaces between words. Every pattern is bounded, so the time is linear.
 */
const ANY = /[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]/;
const SURNAMES =
  "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤";
const NAMES: readonly RegExp[] = [
  /(?:姓名|名字|联系人|收件人|收货人|이름|성명|고객명)["'\\]{0,4}[:：=]\s?["'\\]{0,4}([\u4e00-\u9fff\uac00-\ud7af]{2,5})/dgu,
  /(?:氏名|お名前|名前|顧客名|担当者)["'\\]{0,4}[:：=]\s?["'\\]{0,4}([\u3040-\u30ff\u4e00-\u9fff]{2,6}(?:[ 　][\u3040-\u30ff\u4e00-\u9fff]{1,4})?)/dgu,
  new RegExp(`([${SURNAMES}][\\u4e00-\\u9fff]{1,2})(?:先生|女士|小姐)`, "dgu"),
  /([\u4e00-\u9fff]{2,4}(?:[ 　][\u4e00-\u9fff\u3040-\u30ff]{1,4})?)(?:さん|様)/dgu,
  /([가-힣]{2,4})(?:님|씨)(?![가-힣])/dgu,
];
const ADDRESSES: readonly RegExp[] = [
  /([\u4e00-\u9fff\d]{2,20}(?:路|街|大道|巷)\s?\d{1,5}\s?[号號弄](?:[\u4e00-\u9fff]?\d{1,4}[号室楼层栋座单元]{1,2}){0,3})/dgu,
  /((?:〒\s?\d{3}-?\d{4}\s?)?[\u4e00-\u9fff]{1,3}[都道府県][\u3040-\u30ff\u4e00-\u9fff]{1,10}[市区町村][\u3040-\u30ff\u4e00-\u9fff]{0,10}[\d０-９]{1,4}(?:[-−－ー丁目番地号の]{1,3}[\d０-９]{1,4}){0,3}[号]?)/dgu,
  /(〒\s?\d{3}-\d{4})/dgu,
  /([가-힣]{1,5}(?:시|도) [가-힣]{1,5}(?:구|군|시) [가-힣\d]{1,10}(?:로|길) ?\d{1,4}(?:-\d{1,4})?)/dgu,
];

function findAsianNames(text: string): TextPlace[] {
  return ANY.test(text) ? placesOf(text, NAMES) : [];
}

function findAsianAddresses(text: string): TextPlace[] {
  return ANY.test(text) ? placesOf(text, ADDRESSES) : [];
}

function placesOf(text: string, patterns: readonly RegExp[]): TextPlace[] {
  return patterns.flatMap((pattern) =>
    [...text.matchAll(pattern)].map((match) => [...match.indices![1]!] as TextPlace),
  );
}
