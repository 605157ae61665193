package speech

import "testing"

func TestClaimsChange(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                     true,
		"✅":                                    true,
		"Fixed.":                               true,
		"**Done!**":                            true,
		"All done! Everything works.":          true,
		"It is fixed.":                         true,
		"It is renamed everywhere.":            true,
		"I renamed it.":                        true,
		"The sign was lost. I’ve fixed a.txt.": true,
		"The bug in a.txt has been fixed.":     true,
		"I have just updated src/a.go, and all tests pass.": true,
		"Ich habe den Fehler in a.txt behoben.":             true,
		"Erledigt.":                                         true,
		"J'ai corrigé l'erreur.":                            true,
		"Исправлено.":                                       true,
		"已修复。":                                              true,
		"エラーを修正しました。":                                       true,
		"a.txt holds one line.":                             false,
		"You are welcome!":                                  false,
		"Because line 3 reads it with strconv.ParseUint, which takes none.": false,
		"There are three TODOs:\n- a.go:3 added for the parser\n- b.go:9":   false,
		"The flag was added in 2019.":                                       false,
		"I found that it was fixed in 1.2.":                                 false,
		"I may not change .env.":                                            false,
		"I changed nothing: the sign is kept.":                              false,
		"This is done in a.go, by the parser.":                              false,
		"In der Datei fehlt das Vorzeichen.":                                false,
		"The example:\n```\nI fixed it.\n```\nshows how.":                   false,
		"Nothing has to change: the sign is kept.":                          false,
		"Deleted files are kept for 30 days.":                               false,
		"Finished background jobs go to done/.":                             false,
		"Added lines have a plus sign.":                                     false,
		"Fixed the jobs that are finished.":                                 true,
		"Updated a.go, which is the only one.":                              true,
		"已删除的文件会保留30天。":                                                     false,
	} {
		if got := ClaimsChange(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}

func TestAnnounces(t *testing.T) {
	for text, want := range map[string]bool{
		"I will look at the file now and then change what is wrong in it.": true,
		"The sign is lost. Let me look at a.txt.":                          true,
		"Sure, I'll fix it.": true,
		"Jetzt die Datei:":   true,
		"One moment…":        true,
		"首先我会读取文件，然后修复错误。":                                            true,
		"Zuerst lese ich die Datei.":                                  true,
		"Primero leeré el archivo.":                                   true,
		"D'abord, je vais lire le fichier.":                           true,
		"Сначала посмотрю файл.":                                      true,
		"まず、ファイルを確認します。":                                              true,
		"먼저 파일을 읽겠습니다.":                                               true,
		"It is red. I'll be happy to explain more.":                   false,
		"It is red. I'll turn it blue if you like.":                   false,
		"Sie ist rot. Lass mich wissen, wenn sie es nicht sein soll.": false,
		"Está roto. Déjame saber si quieres más.":                     false,
		"Está quebrado. Deixe-me saber se quiser mais.":               false,
		"Zuerst liest das Programm die Datei.":                        false,
		"D'abord, le programme lit le fichier.":                       false,
		"Primero lee el archivo y luego lo imprime.":                  false,
		"Сначала программа читает файл, потом печатает его.":          false,
		"首先，程序读取文件，然后输出。":                                             false,
		"まず、プログラムがファイルを読み込みます。":                                       false,
		"먼저 프로그램이 파일을 읽습니다.":                                          false,
		"I'll sum up. a.txt is a list.":                               false,
		"It holds one line. Let me know if you want more.":            false,
		"I will not change it.":                                       false,
		"You are welcome.":                                            false,
		"":                                                            false,
	} {
		if got := Announces(text); got != want {
			t.Errorf("%q: %t, want %t", text, got, want)
		}
	}
}
