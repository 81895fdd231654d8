/** The kind of value that a label announces. */
export const NO_LABEL = 0;
/** A word whose value is a secret, whatever it looks like. */
export const PASSWORD_LABEL = 1;
/** A word whose value may also be a status, so the value must look like a secret. */
export const SECRET_LABEL = 2;
/** A weak word after which a scheme may come first: `Authorization: Token abc`. */
export const AUTHORIZATION_LABEL = 3;
/** A weak word that counts only in the query of a URL. */
export const QUERY_LABEL = 4;
/** A word that names with values follow. */
export const COOKIE_LABEL = 5;
export const BIRTH_LABEL = 6;
export const PASSPORT_LABEL = 7;
export const ACCOUNT_LABEL = 8;
export const LICENCE_LABEL = 9;
export const NATIONAL_LABEL = 10;
export const DEVICE_LABEL = 11;
export const HEALTH_LABEL = 12;
/** One coordinate follows: a latitude or a longitude. */
export const COORDINATE_LABEL = 13;
/** Both coordinates follow. */
export const POSITION_LABEL = 14;
export const CARD_LABEL = 15;
/** A short secret: a PIN, a one-time code, the code on the back of a card. */
export const CODE_LABEL = 16;
/** A list of codes for those who lose their second factor. */
export const RECOVERY_LABEL = 29;
/** A private key or a recovery phrase of a wallet. */
export const WALLET_LABEL = 17;
export const SSN_LABEL = 18;
export const PHONE_LABEL = 19;
/** The code on the back of a card, which has three or four digits. */
export const CARD_CODE_LABEL = 24;
/** A word that means a bank account only near other words about banks. */
export const SOME_ACCOUNT_LABEL = 25;
/** A name for something that is no personal data: an id, a count, a version. It speaks against a value. */
export const OTHER_LABEL = 20;
/** A word that may stand between a label and its value: `is`, `number`, `Nr.` */
export const LINK = 21;
/** A link that says that the value is a number. It connects like a sign. */
export const NUMBER_LINK = 28;
/** A number whose kind a word near it tells: `type=passport number=...`. */
export const DOCUMENT_LABEL = 27;
/** A word for any code. Words nearby must say that a person was sent it. */
export const CODE_WORD_LABEL = 30;
/** A word for a key that is often an ordinary one, so the value must be long and random. */
export const SOME_KEY_LABEL = 31;
/** A link that says that the value is an identifier. Only some labels go with it. */
export const ID_LINK = 22;
/** A word between a label and a link: `the password for user anna is`. */
export const ASIDE = 26;
/** The name of a month between a label and the rest of a date. */
export const MONTH = 23;

/**
 * The labels of all kinds, in many languages, separated by commas. The rest of this folder knows no words.
 *
 * - A `_` may be written as `_`, `-`, `.` or a space, or left out.
 * - A word must begin where a word begins in the text, or with a capital in `camelCase`. With `*` before it, it may also
 *   be the end of a longer word.
 * - With `!` after it, only a sign such as `=` or `:` connects it to its value, not a space alone.
 * - Accents may be left out.
 */
export const LABEL_WORDS: readonly (readonly [kind: number, words: string])[] = [
  [
    PASSWORD_LABEL,
    "*password,authentication_string,wlan_schlüssel,wlan_schluessel,wifi_schlüssel,wi_fi_schlüssel,netzwerkschlüssel,*sicherheitsschlüssel,clé_wifi,clé_wi_fi,clave_wifi,clave_wi_fi,clave_del_wifi,chave_wifi,chiave_wifi,klucz_wifi,ключ_wifi,wifi_şifresi,zugangspasswort,chap_secret,pap_secret,ppp_secret,l2tp_secret,radius_secret,radius_key,tacacs_secret,tacacs_key,ksecvaluedata,snmp_server_community,*pass_key,local_key,network_key!,haslo_dostepu,pass_phrase,wifi_key,wifi_password,wlan_key,wpa_key,*password_confirmation,confirm_password,*newpass,*oldpass,*adminpass,*rootpass,*mypass,*ftppass,*smtppass,*pgpass,contrasenia,initial_password,*passwd,*passphrase,*pwd,pass!,temp_pass,temporary_pass,initial_pass,passw,pw,*passwort,*kennwort,passwörter!,losung!,mot_de_passe,mdp," +
      "mots_de_passe!,contraseña,clave!,clave_de_acceso,clave_secreta,palabra_de_paso,senha,palavra_passe,palavra_chave!,parola," +
      "parola_d'ordine,parola_chiave!,hasło,hasła,hasłem,*wachtwoord,toegangscode,lösenord,lösenordet,adgangskode,adgangskoden,kodeord,kodeordet,passord,passordet,salasanasi,salasana," +
      "heslo,jelszó,parolă,lozinka,geslo,slaptažodis,parool,parole!,şifre,şifresi,şifreniz,parolası,mật_khẩu,kata_sandi,sandi!," +
      "пароль,пароля,паролем,пароли!,парола,лозинка,κωδικός,κωδικός_πρόσβασης,συνθηματικό,סיסמה,סיסמא,הסיסמה," +
      "كلمة_المرور,كلمة_السر,كلمة_مرور,كلمه_المرور,رمز_عبور,گذرواژه,पासवर्ड,कूटशब्द,पासवर्ड_है,รหัสผ่าน," +
      "密码,密碼,口令,登录密码,パスワード,暗証番号,비밀번호,암호,비번,পাসওয়ার্ড,கடவுச்சொல்",
  ],
  [
    PASSWORD_LABEL,
    "*client_secret,api_키,액세스_키,アクセスキー,apiキー,api_キー,api_密钥,访问密钥,*client_secret,*secret_key,*private_key,*api_key,*account_key,*shared_access_key,*secret_access_key,*encryption_key," +
      "*signing_key,*subscription_key,*secret_key_base,*auth_key,*session_key,*master_key,*storage_key,*license_key," +
      "*ingestion_key,*instrumentation_key,*service_key,*server_key,*app_key,*application_key,*api_secret,*app_secret," +
      "*consumer_secret,*key_secret,*webhook_secret,*shared_secret,*jwt_secret,*signing_secret,*secret_token,*api_token," +
      "*requirepass,*masterauth,*storepass,*keypass,*sshpass,*become_pass,*ssh_pass,*db_pass,*dbpass,*userpass,*root_pass," +
      "*identified_by,api_schlüssel,clé_api,clé_d'api,chave_de_acesso,ключ_api,clave_de_api,chave_de_api,chiave_segreta,sleutel!,api_sleutel,anahtar!,api_anahtarı,clé_secrète,clave_api,chave_api,chave_secreta,chiave_api,klucz_api,api_ключ," +
      "секретный_ключ,密钥,秘钥,私钥,秘密鍵,シークレット,비밀키,community_string,security_answer,antwort_geheim,functions_key," +
      "authkey,auth_pass,smtp_pass,ftp_pass,mysql_pwd,redis_auth,vault_pass,psk,wpa_psk,preshared_key,pre_shared_key",
  ],
  [
    SECRET_LABEL,
    "*secret,*token,세션_아이디,세션아이디,会话标识,セッション_id,세션,세션_id,会话,会话id,セッション,セッションid,сеанс,сеанса,phiên,sesi,सत्र,جلسة,الجلسة,sessie,sesiunea,sesiune,sessio,relácia!,jeton_d'api,jeton_d'accès,jeton_d’accès,токен_доступа,токен_доступу,token_de_acceso,token_de_acesso,token_di_accesso,zugriffstoken,sesión,sessão,sessione,sitzung,oturum,сессия,сессии,сесія,sesja,sesji,istunto,munkamenet,relace!,session_ticket,entity_token,*access_key,*credential,*credentials,*session,*session_id,sid!,*sessid,*connect_sid,session_index,remember_me,remember_token,signature!," +
      "*authtoken,bearer!,api_id!,jeton,токен,токена,令牌,トークン,토큰,*apikey,pat!,jti!,csrf,xsrf,*saml_response," +
      "samlresponse,saml_assertion,assertion!,jwt,sas!,sess!,dsn!,auth_cookie,magic_link,reset_link",
  ],
  [AUTHORIZATION_LABEL, "*auth,*authorization"],
  [QUERY_LABEL, "key!,sig!,hmac!,ticket!"],
  [
    SOME_KEY_LABEL,
    "*admin_key,*write_key,*integration_key,*partner_key,*merchant_key,*routing_key,*lau_key,*events_key,*deploy_key,*hmac_key,*root_key,*team_key,*publisher_key,*feed_key,*bot_key,*access_id_key,clear_component,key_component,component!,private!,privatekey!,vapid_private,zmk,zpk,tmk,bdk,kek!",
  ],
  [COOKIE_LABEL, "*cookie"],
  [
    BIRTH_LABEL,
    "dob,bdate,geb.datum,geburtsdat,birth_year_month_day,birthdt,date_naissance,fec_nac,fecha_nac,f_nacimiento,f._nac,nac!,data_ur,ημ_γέννησης,ημ._γέννησης,syntynyt,fødd,gimimo_data,dzimšanas_datums,sünniaeg,datum_rojstva,data_naixement,gjeboortedatum,geb_dat,วันเดือนปีเกิด,gbdat,nasc,dt_nasc,data_nasc,дата_рожд,d.o.b,*date_of_birth,*birth_date,*birthday,*birthdate,born,born_on,birth,bday,birth_dt,dateofbirth,dt_of_birth," +
      "geboren,geboren_am,*geburtsdatum,geb,geb_datum,geb.-datum,geburtstag,date_de_naissance,né_le,née_le,né(e)_le,naissance,fecha_de_nacimiento," +
      "fecha_nacimiento,nacido_el,nacida_el,nacimiento,data_di_nascita,nato_il,nata_il,nascita,data_de_nascimento,data_nascimento," +
      "nascido_em,nascida_em,nascimento,geboortedatum,geboren_op,data_urodzenia,urodzony,urodzona,ur,дата_рождения,д.р,родился,родилась," +
      "дата_народження,doğum_tarihi,dogum_tarihi,doğum,födelsedatum,född,fødselsdato,født,syntymäaika,syntymäpäivä,datum_narození,narozen," +
      "születési_dátum,született,data_nașterii,data_nasterii,dátum_narodenia,datum_rođenja,ημερομηνία_γέννησης,дата_на_раждане," +
      "תאריך_לידה,تاريخ_الميلاد,تاریخ_تولد,जन्म_तिथि,जन्मतिथि,जन्म_तारीख,ngày_sinh,tanggal_lahir,tgl_lahir,วันเกิด," +
      "出生日期,出生年月,出生,生日,生年月日,誕生日,생년월일,생일",
  ],
  [
    PASSPORT_LABEL,
    "*passport,mrz_line1,mrz_line2,mrz_line_1,mrz_line_2,mrz1,mrz2,ppt_no,ppt_number,ppt_nr,pp_no,pp_number,passport_num,passport_nr,reisedokument,document_de_voyage,documento_de_viaje,documento_di_viaggio,dokument_podróży,загранпаспорту,номер_паспорта,หมายเลขหนังสือเดินทาง,útlevélszám,útlevelének_száma,pasu_číslo,číslo_pasu,pas_č,putovnica,pasoš,паспорту,паспортні_дані,загранпаспорта,passi_number,apis_doc_number,apis_document_number,passports!,travel_document,travel_doc,*reisepass,*reisepassnummer,*reisepassnr,passnummer,ausweisnummer,personalausweis,*passeport," +
      "pasaporte,passaporto,passaporte,*paspoort,paspoortnummer,paszport,paszportu,паспорт,паспорта,паспорт_серия,паспорт_серия_и_номер,серия_и_номер!,загранпаспорт,pasaport,pas_no," +
      "passi,cestovní_pas,číslo_pasu,útlevél,pașaport,διαβατήριο,дата_паспорта,דרכון,جواز_السفر,جواز_سفر,पासपोर्ट,hộ_chiếu,paspor,หนังสือเดินทาง," +
      "护照,護照,护照号,护照号码,パスポート,旅券,여권,여권번호,mrz",
  ],
  [
    ACCOUNT_LABEL,
    "*account_number,บัญชี,เลขบัญชี,บัญชีเลขที่,50k!,50f!,50h!,59f!,number_of_account,numer_rachunku_bankowego,konto_bankowe,kontonr_mottaker,uttakskonto,mottakerkonto,beneficiary_account,beneficiary_acct,credit_account!,debit_account!,payout_account,tk_ngân_hàng,stk,*bankszámlaszám,bankszámla,номер_рахунку,розрахунковий_рахунок,bankový_účet,bankovní_účet,broj_računa,žiro_račun,številka_računa,cont_bancar,numărul_contului,αριθμός_λογαριασμού,банкова_сметка,pankkitili,kontonumber,מספר_חשבון,מס'_חשבון,*account_no,*account_nr,*account_num,acc_no,kto_nr,kto,c/c,acc_number,accno,*acct_no,*acct_number,*acct_num,bank_account,*bankaccount,a/c,*accountnumber," +
      "routing,routing_number,aba,aba_number,rtn,transit_number,sort_code,*kontonummer,*kontonr,konto_nr,bankkonto,bankverbindung,blz,bankleitzahl,ifsc," +
      "clabe,clabe_interbancaria,bsb,iban,cbu,cvu,numéro_de_compte,compte_bancaire,n°_de_compte,rib,número_de_cuenta,cuenta_bancaria," +
      "conta_corrente,conta_bancária,conto_corrente,numero_di_conto,rekeningnummer,bankrekening," +
      "numer_konta,nr_konta,rachunek,numer_rachunku,nr_rachunku,расчётный_счёт,расчетный_счет,р/с,номер_счёта,номер_счета,лицевой_счет," +
      "hesap_no,hesap_numarası,kontonummer,bankgiro,tilinumero,číslo_účtu,számlaszám,حساب,رقم_الحساب,खाता_संख्या,खाता," +
      "银行账号,银行账户,账号,帐号,账户,銀行帳號,銀行口座,口座番号,口座,계좌번호,계좌,số_tài_khoản,nomor_rekening,no_rekening,norek,เลขที่บัญชี",
  ],
  [
    SOME_ACCOUNT_LABEL,
    "account,acct,compte,acc,cuenta,conta,conto,rekening,счёт,счет,hesap,konto,账户,creditor_account,debtor_account",
  ],
  [
    LICENCE_LABEL,
    "driver_license,cdl,cdl_no,cdl_number,ву,в/у,номер_в/у,الرخصة,رقم_الرخصة,رخصة_السائق,رخصة_السياقة,licencia_conducir,licencia_de_manejo,brevete,permis_nr,permis_no,patente_n,lizenz_nr!,führerschein_nr,rijbewijs_nr,körkortsnr,licence,license,vezetői_engedély,vodičský_preukaz,vozačka_dozvola,vozniško_dovoljenje,посвідчення_водія,водійське_посвідчення,свидетелство_за_управление,δίπλωμα_οδήγησης,permis_auto,juhiluba,vairuotojo_pažymėjimas,driver_license,drv_lic,driv_lic,driver_lic,lic_no!,drivers_license,driver's_license,driver_licence,drivers_licence,driver's_licence,driving_license,driving_licence," +
      "dl,dl_number,dl_no,dln,dlnumber,driverlicense,drivinglicence,*führerschein,*führerscheinnummer," +
      "fuehrerschein,permis_de_conduire,permis,licencia_de_conducir,licencia_de_conduccion,carnet_de_conducir,permiso_de_conducir,patente_di_guida," +
      "patente,carta_de_condução,cnh,habilitação,rijbewijs,rijbewijsnummer,prawo_jazdy,prawa_jazdy,водительское_удостоверение,водительские_права," +
      "номер_ву,ehliyet,sürücü_belgesi,körkort,körkortsnummer,førerkort,kørekort,ajokortti,řidičský_průkaz,jogosítvány,permis_conducere," +
      "רישיון_נהיגה,رخصة_القيادة,رخصة_قيادة,ड्राइविंग_लाइसेंस,giấy_phép_lái_xe,sim_number!,ใบขับขี่,驾驶证,驾照,駕照,免許証,免許証番号,運転免許,운전면허,운전면허번호,면허번호",
  ],
  [
    NATIONAL_LABEL,
    "national_id,egn,vkn,vergi_no,vergi_kimlik_no,vergi_kimlik_numarası,tax_no,taxno,taxpayer_no,utr,utr_number,fein,ein,ein_number,p.iva,p_iva,partita_iva,เลขบัตร,เลขบัตรประชาชน,เลขประจำตัว,เลขประจำตัวผู้เสียภาษี,siren!,siret,btw_nummer,btw_id,mva_nummer,umsatzsteuer_id,ust_id,ust_idnr,uid_nummer!,moms_nr!,организационный_номер,ідентифікаційний_код,eori!,α.φ.μ,α.μ.κ.α,αριθμός_ταυτότητας,дипломатический!,national_insurance_no,nino_number,gstin,gst_number,gst_no,nip,regon!,паспорт_громадянина,рнокпп_номер,občanský_průkaz,číslo_op,szig_szám,személyi_szám,adószám,adóazonosító_jel,számlaazonosító!,osobná_karta,num_fiscal,numéro_fiscal,socialsec,social_sec,voter_id,voter_card,epic_no,nr_dowodu,national!,kennitala,cédula_de_identidad,carnet_de_identidad,documento_de_identificación,carné_de_identidad,taj_szám,személyi_azonosító,személyi_igazolvány,јмбг,лични_број,матични_број,жсн,cccd_số,số_cccd,số_cmnd,số_căn_cước,broj_osobne,iin,идентификационный_номер,idnp,civil_id,رقم_الهوية_الوطنية,الهوية_الوطنية,الرقم_المدني,رقم_الإقامة,national_number,identification!,identification_number,identity!,social!,matricule,matricule_national,ic!,социальный!,nationalid,national_identity,national_identification,personal_id,personal_number,personal_code,identity_card,identity_number,id_card,id_number,id_no,citizen_id,citizenship," +
      "resident_id,tax_id,taxpayer,tax_number,tax_file_number,tin,fiscal_number,vat_id!,government_id,govt_id,social_insurance,social_insurance_number,sin,tfn,nhs,nino,national_insurance," +
      "national_insurance_number,ni!,ni_number,pps!,pps_number,ppsn,ppsno,steuer_id,steuerid,steuer_identifikationsnummer,steuerliche_identifikationsnummer," +
      "identifikationsnummer,idnr,steuernummer,steuernr,sozialversicherungsnummer,svnr,sv_nummer,sv_nr,versicherungsnummer!,rentenversicherungsnummer,ahv,ahv_nr,ahv_nummer,avs," +
      "sécurité_sociale,numéro_de_sécurité_sociale,nir,insee,numéro_fiscal,dni,nie,nif,cif!,documento,documento_de_identidad,documento_nacional,seguridad_social," +
      "codice_fiscale,cod_fiscale,cf!,contribuinte,cartão_de_cidadão,bsn,burgerservicenummer,sofinummer,rijksregisternummer,rijksregister," +
      "registre_national,numéro_national,pesel,nip!,dowód,dowód_osobisty,numer_dowodu,personnummer,personnr,samordningsnummer,fødselsnummer,fødselsnr,citizenship_card,citizen_card,fodselsnummer,cpr,cpr_nr,henkilötunnus,hetu,isikukood," +
      "personas_kods,asmens_kodas,rodné_číslo,rodne_cislo,személyi_szám,adóazonosító,taj,cnp,cod_numeric_personal,егн,jmbg,emšo,emso,oib,αμκα,amka,αφμ,afm,tc_kimlik,tckn,t.c.,kimlik,kimlik_no,tc," +
      "снилс,инн,рнокпп,іпн,єдрпоу!,ипн,личный_номер,иин,teudat_zehut,תעודת_זהות,ת.ז,ת.ז.,מספר_זהות,rsa_id,sa_id,za_id," +
      "cpf,cnpj,rg!,rut,rut_cliente,c.i,cuit,cuil,cédula,cedula,cédula_de_ciudadanía,cc!,curp,rfc,ine!,nss!,clave_de_elector,ruc,ssn_itin,itin," +
      "aadhaar,aadhar,uidai,pan_card,pan_no,pan_number,आधार,आधार_संख्या,पैन,cnic,nic,nid,nik,ktp,no_ktp,npwp,mykad,ic_no,ic_number,nric,fin!,hkid,身份证,身份证号,身份证号码,身份證,身分證,身分證字號," +
      "居民身份证,統一編號,マイナンバー,個人番号,my_number,주민등록번호,주민번호,เลขประจำตัวประชาชน,บัตรประชาชน,cccd,cmnd,căn_cước," +
      "emirates_id,eid!,iqama,الرقم_القومي,الرقم_الوطني,رقم_الهوية,الهوية,هوية,کد_ملی,nin,bvn,ghana_card,ird,ird_number,umid,sss!,philsys",
  ],
  [
    DEVICE_LABEL,
    "imei,device_serial,hardware_serial,mdm_serial,ipad_serial,iphone_serial,macbook_serial,phone_serial,handset_serial,tablet_serial,laptop_serial,device,cpe,cable_modem,identifier_for_vendor,vendor_identifier,test_device_id,test_device_ids,supi,sta!,bssid!,hwaddr,chaddr,ap_mac,client_mac,station_mac,sim!,device_serial,device_id!,device_uuid,device_serial_number,imeisv,imei2,meid,imsi,iccid,iccid_number,sim_card,sim_serial,idfa,idfv,gaid,aaid,advertising_id,advertising_identifier,ad_id,adid,android_id,udid,device_token,push_token," +
      "apns_token,vin,vin_number,vehicle_identification_number,chassis_number,chassis,fahrgestellnummer,fahrzeugidentnummer,fin_nummer,fin_nr,numéro_de_châssis,bastidor,telaio," +
      "ccid,cimi,cgsn,esn,eid_number,euicc,mac_address,mac,hardware_address,device_imei,oaid,устройство_imei,車台番号,車架號,车架号",
  ],
  [
    HEALTH_LABEL,
    "mrn,ihi,cip,nass,nuss,naf!,hn,insurance_card,insurance_card_no,insurance_card_number,insurer_no,insurer_number,insured_no,insured_number,insurer_id,ipp,환자_등록번호,환자등록번호,등록번호,진료번호,의무기록번호,medical_aid,medical_aid_no,medical_aid_number,scheme_member!,chi,nhs_no,nhs_number,h&c_number,hcn,ahcip,msp_number,hospital_number,unit_number!,เลขประจำตัวผู้ป่วย,medicare_beneficiary,medicare_beneficiary_id,numer_ubezpieczenia_zdrowotnego,ubezpieczenia_zdrowotnego,sağlık_karnesi,sağlık_karnesi_no,karty_ekuz,kartyekuz,ekuz,numer_kartoteki,kartoteka!,health_card_no,hospital!,insured!,mr_number,medical_number,medical_id,health_id,health_number,patient_identifier,patient_ref,patient_code,hospital_no,hospital_id,ehr_id,emr_id,donor_id,donor!,blood_donor,medical_card,medicare_card,medicare_card_number,medicare_beneficiary_identifier,beneficiary_identifier,subscriber_number,subscriber_no,health_plan_id,health_plan_number,health_plan_subscriber,plan_member,plan_member_id,abha,abha_number,abha_id,hmo_id,dva_number,chi_number,chart_no,insured_id,clinic!,medical_record,medical_record_number,medical_record_no,patient!,patient_id,patient_no,patient_number,patientid,chart_number,hospital_number,health_card,health_card_number,health_insurance,health_insurance_number," +
      "health_plan,insurance_number,insurance_no,insurance!,insurance_id,insurance_policy,insurance_member,insurance_member_id,member!,member_id,member_number,memberid,subscriber_id,beneficiary_id,medicare,medicare_number,medicaid,medicaid_id,mbi,hicn,policy!,policy_no,policy_number," +
      "ohip,phn,versichertennummer,krankenversichertennummer,versichertennr,versicherten_nr,versicherten_id,krankenversichertennr,krankenversicherungsnummer,krankenversicherung,krankenkassennummer,polizzennummer,policennummer,patienten_nr,pat_nr,pat_id,krankenakte,mitgliedsnummer!,kvnr,kv_nummer,krankenkasse_nr,patientennummer,patientnummer,patientnr,patienten_id,fallnummer!,ehic,carte_vitale,numéro_patient,n°_patient,dossier_patient,numéro_d'assurance,assurance_maladie,numéro_de_mutuelle,mutuelle!,carte_d'assuré,carte_soleil,ramq,n°_d'assuré,n°_assuré,numéro_de_patient,dossier_médical,numéro_d'assuré,número_de_paciente," +
      "historia_clínica,número_de_historia,historia_médica,expediente_clínico,expediente_médico,número_de_afiliado,n°_afiliado,número_de_afiliación,afiliado!,póliza!,número_de_póliza,obra_social,seguro_médico,cartão_nacional_de_saúde,cartão_de_saúde,cartão_do_sus,cartão_da_saúde,prontuário,número_do_prontuário,carteirinha,plano_de_saúde,utente!,nº_de_utente,número_utente,cartella_clinica,numero_paziente,id_paziente,tessera_team,numero_polizza,numer_ubezpieczenia,numer_polisy,karta_pacjenta,id_pacjenta,numer_karty_pacjenta,patiëntnummer,patientennr,verzekerdennummer,zorgpas,journalnummer,potilasnumero,číslo_pacienta,číslo_pojištěnce,beteg_azonosító,cod_asigurat,nhc,tarjeta_sanitaria,tessera_sanitaria,número_de_utente,cartão_sus,cns!,zorgverzekering,polisnummer,numer_pacjenta,полис,полис_омс,номер_пациента,номер_карты_пациента,история_болезни,номер_истории_болезни,медкарта,медицинская_карта,амбулаторная_карта,енп,омс,номер_полиса,hasta_no,hasta_numarası,hasta_id,sigorta_no,mã_bệnh_nhân,mã_bhyt,bhyt,nomor_rekam_medis,rekam_medis,bpjs,nomor_bpjs,protokol_no!,病历号,医保卡,病案号,医保卡号,医疗卡号,社保卡号,社保卡,患者编号,病歷號,健保卡號,健保卡,医保号,住院号,就诊卡号,診察券番号,診察券,カルテ番号,保険者番号,被保険者証,記号!,保険証番号,被保険者番号,患者番号,건강보험번호,환자번호,차트번호,병록번호,건강보험증,보험번호,رقم_المريض,رقم_الملف_الطبي,رقم_التأمين,रोगी_संख्या,npi!,dea_number",
  ],
  [
    COORDINATE_LABEL,
    "lat,*latitude,lon,lng,long,*longitude,latitud,longitud,breitengrad,längengrad,широта,долгота,纬度,经度,緯度,経度,*_lat,*_lng,*_lon",
  ],
  [
    POSITION_LABEL,
    "position,location,loc,geo,gps,gps_fix,coordinates,coords,coordinate,latlng,lat_lng,latlon,lat_lon,lat/lon,lat/lng,point,geopoint,geo_point,standort,koordinaten,koordinates,ubicación,coordenadas,localização,coordonnées,posizione,coordinate_gps,locatie,coördinaten,współrzędne,lokalizacja,местоположение,координаты,konum,koordinat,位置,坐标,座標,現在地,위치,좌표,الموقع,स्थान,near,at!,geocoded,q!,ll!,pos!",
  ],
  [
    CARD_LABEL,
    "*card,*card_number,*card_no,*cardnumber,pan,primary_account_number,cc,ccn,cc_number,cc_num,credit_card,creditcard,debit_card,visa,mastercard,amex,maestro,uatp,rupay,diners,discover,jcb,*kreditkarte,*karte,*kartennummer,karten_nr," +
      "de2!,card_num,*cardno," +
      "carte,carte_bancaire,carte_de_crédit,cb,numéro_de_carte,tarjeta,tarjeta_de_crédito,número_de_tarjeta,cartão,cartao,cartão_de_crédito,carta,carta_di_credito,numero_carta,creditcardnummer,kaartnummer,karta,karty,numer_karty,карта,карты,карте,номер_карты,kart,kart_no,kartı,kart_numarası," +
      "kort,kortnummer,银行卡,银行卡号,卡号,信用卡,信用卡号,カード番号,カード,クレジットカード,카드번호,카드,بطاقة,رقم_البطاقة,कार्ड",
  ],
  [
    CODE_LABEL,
    "*otp,cod_validare,cod_de_validare,cod_otp,cod_verificare,rio,pac!,pac_code,porting_code,porting_pin,port_out_pin,transfer_pin,porting_authorisation_code,mnp予約番号,mnp_予約番号,pickup_code,collection_code,locker_code,abholcode,abhol_pin,código_de_recogida,code_de_retrait,kod_odbioru,ophaalcode,código_de_retirada,şifre_sıfırlama_kodu,sıfırlama_kodu,aktivasyon_kodu,reset_code,password_reset_code,resetcode,código_de_recuperación,código_de_recuperação,codice_di_recupero,code_de_réinitialisation,kod_resetu,код_сброса,重置码,リセットコード,код_підтвердження,код_доступу,код_авторизації,код_за_потвърждение,megerősítő_kód,ellenőrző_kód,biztonsági_kód,código_de_acesso,código_de_acceso,código_de_confirmação,ověřovací_kód,potvrzovací_kód,bezpečnostní_kód,overovací_kód,verifieringskod,bekräftelsekod,säkerhetskod,bekræftelseskode,bekreftelseskode,sikkerhetskode,sikkerhedskode,verifikationskode,vahvistuskoodi,turvakoodi,kod_potwierdzający,kod_autoryzacyjny,cod_de_verificare,cod_de_confirmare,cod_de_securitate,κωδικός_επαλήθευσης,κωδικός_επιβεβαίωσης,kontrolni_kod,potvrdni_kod,patvirtinimo_kodas,apstiprinājuma_kods,kinnituskood,mã_xác_thực,kode_konfirmasi,kode_keamanan,รหัสยืนยัน,รหัส_otp,קוד_אימות,رمز_التأكيد,کد_تایید,codice_di_conferma,bevestigingscode,toegangscode_sms,kod_dostępu,kod_potwierdzenia,kontrollkood,code_d'accès,code_d'accès_en_ligne,code_d’accès,code_pin_de_la_carte,pin_de_la_tarjeta,pin_da_carta,karten_pin,pin_kodu,cpin,pairing_code,device_pairing_code,door_code,gate_code,alarm_code,entry_code,keypad_code,one_time_pin,security_pin,your_code,ihr_code,votre_code,su_código,tu_código,seu_código,il_tuo_codice,uw_code,je_code,twój_kod,ваш_код,kodunuz,totp_code,one_time_password,one_time_passcode,one_time_code,onetime_code,otp_code,verification_code,verify_code,confirmation_code,2fa_code,2fa,mfa_code,mfa_token,auth_code,sms_code,passcode,pin,*pin_code,pincode,puk," +
      "tan,einmalcode,einmalpasswort,bestätigungscode,freischaltcode,tan_code,code_de_validation,código_é,session_code,code_de_vérification,code_de_sécurité,code_de_confirmation,code_pin,code_secret," +
      "código_de_verificación,código_de_seguridad,código_de_confirmación,código_de_verificação,código_de_segurança,codice_di_verifica,codice_di_accesso,codice_di_sicurezza,codice_otp,codice_pin,verificatiecode,beveiligingscode,pincode," +
      "kod_weryfikacyjny,kod_pin,kod_sms,код_подтверждения,код_доступа,пин,пин_код,пин-код,код_из_смс,doğrulama_kodu,onay_kodu,güvenlik_kodu,验证码,驗證碼,校验码,动态码,安全码,認証コード,確認コード,認証番号,セキュリティコード,인증번호,인증코드,رمز_التحقق,رمز_الأمان,सत्यापन_कोड,ओटीपी," +
      "access_code,unlock_code,device_code,user_code,login_code,sign_in_code,engangskode,engångskod,kertakoodi,kode_otp,kode_verifikasi,mã_otp,mã_xác_nhận",
  ],
  [CODE_WORD_LABEL, "code,codice,código,kod,kodu,код,cod,kód,kode,kodi,コード,代码,코드,expected"],
  [
    RECOVERY_LABEL,
    "backup_code,backup_codes,recovery_code,recovery_codes,scratch_code,scratch_codes,emergency_codes,códigos_de_respaldo,códigos_de_recuperación,codes_de_secours,backup_codes_are,wiederherstellungscodes,notfallcodes",
  ],
  [
    CARD_CODE_LABEL,
    "*cvv,セキュリティコード,安全码,安全碼,cód_segurança,cód._segurança,cod_seguridad,cvv2,*cvc,verification_value,cvc2,cv2,csc!,card_verification,card_verification_value,card_security_code,security_code,sicherheitscode,kartenprüfnummer,prüfziffer!,cryptogramme,código_de_seguridad,codice_di_sicurezza,cvv_код,安全码,セキュリティコード",
  ],
  [
    WALLET_LABEL,
    "mnemonic,treasury_key,signer_key,hot_wallet_key,wallet_key,eth_key,solana_wallet,solana_address,ton_wallet,ton_address,algorand,sui,sui_address,aptos,recovery_words,restore_words,backup_words,secret_words,wallet_words,frase_semilla,frase_de_recuperación,frase_semente,phrase_de_récupération,phrase_secrète,wiederherstellungsphrase,wallet_key,signer_key,mnemonic_phrase,seed_phrase,recovery_phrase,seed,seed_words,secret_phrase,wallet_phrase,backup_phrase,wallet_seed,private_key,privkey,priv_key,wif,wallet_private_key,xprv,wallet,wallet_address,dumpprivkey,importprivkey,deposit_address,withdrawal_address,payout_address,crypto_address,solana,sol!,solana_owner,owner!,destination!,xrp,ripple,stellar,tezos,monero,xmr,polkadot,cardano,助记词,私钥,ニーモニック,니모닉,сид_фраза,мнемоника",
  ],
  [SSN_LABEL, "*ssn,social_security,social_security_number,social_security_no,ss_number,soc_sec,sozialversicherung"],
  [
    PHONE_LABEL,
    "*phone,ani,dnis,cli!,a_number,b_number,a_party,b_party,anumber,bnumber,a_num!,b_num!,orig_number,term_number,originating_number,terminating_number,e164,e.164,κινητό,κινητού,τηλ,τηλέφωνο_επικοινωνίας,dzwoniący!,mob_no,cell_no,tlf,tlf_nr,mobilnr,เบอร์โทร,เบอร์โทรศัพท์,เบอร์,số_điện_thoại,sđt,no_hp,nomor_hp,nomor_telepon,nomor_ponsel,тел,тел_номер,telefonszám,puhelinnumero,telefonní_číslo,telefónne_číslo,номер_мобільного,моб,τηλέφωνο,numărul_de_telefon,broj_telefona,ph!,dest_addr,source_addr,destination_addr,called_number,calling_number,called_party,calling_party,callerid,caller_id,callback_number,contact_number,mobile_no,mobile_number,cell_number,wa_id,رقم_الجوال,رقم_الهاتف,मोबाइल_नंबर,फ़ोन,caller,call_from,callee,*telephone,tel,*mobile,msisdn,fax,cell,*phonenumber,handy,telefon,telefono,téléphone,celular,whatsapp,telefonnummer,mobilnummer,rufnummer,telefoonnummer,numero_di_telefono,número_de_teléfono,numéro_de_téléphone,numer_telefonu,telefon_numarası,номер_телефона,телефон,手机,手机号,电话,電話番号,携帯,휴대폰,전화번호,gsm,mobil,sms",
  ],
  [
    OTHER_LABEL,
    "order,lta,luftfrachtbrief,b/l,bill_of_lading,connaissement,konnossement,container,conteneur,postal_code,zip_code,zip,postcode,post_code,error_code,status_code,response_code,exit_code,reason_code,result_code,promo_code,discount_code,coupon_code,country_code,area_code,product_code,currency_code,código_postal,código_de_error,código_de_erro,codice_errore,codice_postale,codice_prodotto,код_ошибки,fehlercode,code_postal,code_erreur,code_d'erreur,kod_błędu,kod_pocztowy,hata_kodu,posta_kodu,エラーコード,错误代码,错误码,オーダーコード,message_id,orders,counts,buckets,histogram,awb,mawb,hawb,air_waybill,airway_bill,waybill,consignment,tracking_number,tracking_no,tracking_id,sendungsnummer,sendung,colis,envío,paquete,spedizione,zending,paczka,посылка,трек_номер,运单号,快递单号,追跡番号,운송장번호,cell_id,cellid,ecgi,enb,enodeb,gnb,lac,tac,rnc,earfcn,call_id,callid,cseq,ssrc,sscc,meter,meter_no,zählernummer,imo,pnr,e-ticket,buchung,réservation,next_token,page_token,pagination_token,continuation_token,sync_token,resume_token,nonce,cursor,order_id,trace,trace_id,span,span_id,request,request_id,req,req_id,rows,row,count,total,offset,sequence,seq,lease,index,idx,size,bytes,length,len,port,pid,tid,thread,job,job_id,build,run,pipeline,batch,invoice,document,doc,reference,ref,message,msg,message_id,event,event_id," +
      "transaction,transaction_id,txn,txn_id,tx,tx_id,stan,rrn,correlation,correlation_id,timestamp,time,ts,epoch,version,ver,release,revision,rev,commit,sku,ndc,oid,ean,upc,isbn,gtin,asin,lot,part,item,product,article,material,shipment,tracking,parcel,ticket,case,claim,journal,entry,ledger,block,height,generation,lsn,xid,zxid,partition,segment,node,shard,bucket,object,object_id,user_id,customer_id,account_id,tenant,org,project,device_no," +
      "retry,attempt,attempts,delay,timeout,duration,elapsed,latency,bestellung,bestellnummer,auftrag,auftragsnummer,rechnung,rechnungsnummer,vorgang,belegnummer,commande,facture,pedido,factura,fatura,ordine,fattura,zamówienie,faktura,заказ,заказа,счёт_фактура,订单,订单号,流水号,注文番号,주문번호",
  ],
  [
    LINK,
    "is,was,получателя,плательщика,отправителя,bénéficiaire,empfänger,empfängers,begunstigde,odbiorcy,nadawcy,płatnika,alıcı,osoby,fizycznej,podatnika,attach,detach,المؤقتة,المؤقت,مؤقتة,الجديد,tijdelijke,midlertidigt,midlertidig,tillfälligt,väliaikainen,dočasné,ideiglenes,προσωρινός,临时,仮,임시,अस्थायी,nya,nieuwe,nieuw,νέος,generated,issued,ασθενούς,πελάτη,του,hastanın,müşteri,klienta,환자,ผู้ป่วย,naar,till,til,gewijzigd,ingesteld,ändrat,ändrades,ændret,endret,vaihdettu,zmieniono,изменён,изменен,установлен,changé,modifié,cambiata,modificata,cambiada,modificada,cambiado,değiştirildi,změněno,nastaveno,módosítva,geändert,gesetzt,zurückgesetzt,restablecida,redefinida,réinitialisé,reimpostata,mismatch,got,beneficiaria,beneficiario,beneficiária,ordenante,destinatario,string,错误,不正确,有误,are,be,to,value,na,nu,nå,ustawione,zmienione,alterada,inserita,informada,ingresada,mới,baru,الجديدة,已设置为,设置为,重置为,修改为,更改为,已重置为,titular,titolare,titulaire,inhaber,cliente,klienta,клиента,физлица,физического_лица,пациента,pacienta,patienten,fahrers,водителя,курьера,repartidor,livreur,peruano,chileno,argentino,colombiano,ecuatoriano,mexicano,español,mit,dem,der,des,del,van,von,на,ke,adalah,är,er,uusi,nový,nové,új,nou,нова,нове,новая,новое,普通,当座,val,equals,as,of,on,now,set,changed,reset,updated,new,the,ist,war,lautet,am,vom,est,était,le,du,de,es,era,el,è,il,di,é,em,op,jest,to_jest,это,серия,是,为,為,は,은,는,이,가,هو,هي,है,string,text,literal,data,plain,plaintext,cleartext,clear,date,и_номер,tiene,has,been,encoded,decoded,temporary,temp,initial,default,current,old,actual,provisional,temporal,temporária,provisoire,provisória,provisoria,provvisoria,provvisorio,tạm,tạm_thời,je,nog_steeds,still,toujours,temporanea,neue,neues,nueva,nova,nuova,tijdelijk,tymczasowe,временный,новый,initiales,vorläufiges,entered,incorrecta,incorrecto,incorreta,incorrecte,inválida,inválido,invalide,invalid,incorrect,wrong,errata,sbagliata,falsches,ungültiges,given,provided,supplied,typed,tried,received,submitted,geçici,yeni,novo,nouveau",
  ],
  [DOCUMENT_LABEL, "doc_number,document_number,doc_no,document_no,doc_id,document_id,documentnumber"],
  [
    NUMBER_LINK,
    "number,numbers,szám,száma,čís,číslo,číslem,broj,număr,αριθμός,núm,नंबर,no,num,nr,n°,nº,n.º,№,n,nummer,numéro,numero,número,numer,номер,numarası,numarasi,numaranız,号,號,号码,號碼,编号,番号,번호,رقم,संख्या",
  ],
  [
    ASIDE,
    "for,für,login,входа,для,connexion,brasileiro,brasileira,italiano,español,espagnol,français,portugués,polski,pour,para,user,usuario,usuário,utilisateur,benutzer,customer,do,da",
  ],
  [ID_LINK, "id,ids,identifier,key_id,code"],
  [
    MONTH,
    "january,february,march,april,may,june,july,august,september,october,november,december,jan,feb,mar,apr,jun,jul,aug,sep,sept,oct,nov,dec",
  ],
];
